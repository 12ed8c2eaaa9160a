-- Events that the archive has yet to take, with the key that they have in ingest.events. Rows come and go: vacuum by their
-- number, not by the table's share.
CREATE TABLE "ingest"."archive_queue" (
    "project_id" UUID NOT NULL,
    "received_at" TIMESTAMPTZ(3) NOT NULL,
    "event_key" UUID NOT NULL,
    "file_id" UUID,

    CONSTRAINT "archive_queue_pkey" PRIMARY KEY ("project_id", "received_at", "event_key")
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);
CREATE INDEX "archive_queue_received_at_idx" ON "ingest"."archive_queue"("received_at") WHERE "file_id" IS NULL;
CREATE INDEX "archive_queue_file_id_idx" ON "ingest"."archive_queue"("file_id") WHERE "file_id" IS NOT NULL;

-- The files of the archive. A row without finished_at is work of the process that has the lease.
CREATE TABLE "ingest"."archive_files" (
    "id" UUID NOT NULL,
    "project_id" UUID NOT NULL,
    "hour" TIMESTAMPTZ(3) NOT NULL,
    "format" TEXT NOT NULL,
    "attempt" INTEGER NOT NULL,
    "lease_until" TIMESTAMPTZ(3) NOT NULL,
    "name" TEXT,
    "events" INTEGER,
    "bytes" BIGINT,
    "sha256" TEXT,
    "first_received_at" TIMESTAMPTZ(3),
    "last_received_at" TIMESTAMPTZ(3),
    "finished_at" TIMESTAMPTZ(3),

    CONSTRAINT "archive_files_pkey" PRIMARY KEY ("id")
);
CREATE INDEX "archive_files_project_id_hour_idx" ON "ingest"."archive_files"("project_id", "hour");
CREATE INDEX "archive_files_lease_until_idx" ON "ingest"."archive_files"("lease_until") WHERE "finished_at" IS NULL;
