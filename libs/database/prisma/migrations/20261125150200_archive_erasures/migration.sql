-- Set from the time at which a rewritten file is recorded until its manifest is written. It has no events if all of them
-- were erased; then it is being removed.
ALTER TABLE "ingest"."archive_files" ADD COLUMN "manifest_pending" BOOLEAN NOT NULL DEFAULT false;
CREATE INDEX "archive_files_project_id_id_idx" ON "ingest"."archive_files"("project_id", "id");

-- Erasures that the files of the archive have yet to follow, with the same id as in ingest.erasure_jobs.
CREATE TABLE "ingest"."archive_erasures" (
    "id" UUID NOT NULL,
    "project_id" UUID NOT NULL,
    "profile_ids" UUID[] NOT NULL,
    "erased_at" TIMESTAMPTZ(3) NOT NULL,
    "checked_until" UUID NOT NULL DEFAULT '00000000-0000-0000-0000-000000000000',
    "due_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "archive_erasures_pkey" PRIMARY KEY ("id")
);
CREATE INDEX "archive_erasures_due_at_idx" ON "ingest"."archive_erasures"("due_at");
CREATE INDEX "archive_erasures_project_id_idx" ON "ingest"."archive_erasures"("project_id");
