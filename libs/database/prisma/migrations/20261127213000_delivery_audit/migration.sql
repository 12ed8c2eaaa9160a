-- A sample of acknowledged events, and what became of those that were checked.
CREATE TABLE "ingest"."delivery_samples" (
    "project_id" UUID NOT NULL,
    "event_key" UUID NOT NULL,
    "received_at" TIMESTAMPTZ(3) NOT NULL,
    "occurred_at" TIMESTAMPTZ(3) NOT NULL,
    "conversions" SMALLINT NOT NULL,
    "next_check_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "delivery_samples_pkey" PRIMARY KEY ("project_id", "event_key")
);

CREATE INDEX "delivery_samples_next_check_at_idx" ON "ingest"."delivery_samples"("next_check_at");

CREATE TABLE "ingest"."delivery_checks" (
    "project_id" UUID NOT NULL,
    "hour" TIMESTAMPTZ(3) NOT NULL,
    "outcome" TEXT NOT NULL,
    "seconds" INTEGER NOT NULL,
    "n" BIGINT NOT NULL,

    CONSTRAINT "delivery_checks_pkey" PRIMARY KEY ("project_id", "hour", "outcome", "seconds")
);
