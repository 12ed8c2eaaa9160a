-- When the events of a project that are older than its retention are removed next.
CREATE TABLE "ingest"."retention_runs" (
    "project_id" UUID NOT NULL,
    "days" INTEGER NOT NULL,
    "due_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "retention_runs_pkey" PRIMARY KEY ("project_id")
);
