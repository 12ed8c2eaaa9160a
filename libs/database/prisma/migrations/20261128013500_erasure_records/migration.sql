-- What each erasure has removed, kept as proof. It names nobody: people are hashes, as in ingest.erasures.
CREATE TABLE "ingest"."erasure_records" (
    "id" UUID NOT NULL,
    "project_id" UUID NOT NULL,
    "people" BYTEA[] NOT NULL,
    "erased_at" TIMESTAMPTZ(3) NOT NULL,
    "in_archive" BOOLEAN NOT NULL,
    "removed" JSONB NOT NULL DEFAULT '{}',
    "removed_at" TIMESTAMPTZ(3),
    "archive_files" INTEGER NOT NULL DEFAULT 0,
    "archive_removed_at" TIMESTAMPTZ(3),

    CONSTRAINT "erasure_records_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "erasure_records_project_id_fkey" FOREIGN KEY ("project_id")
      REFERENCES "core"."projects"("id") ON DELETE CASCADE ON UPDATE CASCADE
);

CREATE INDEX "erasure_records_project_id_id_idx" ON "ingest"."erasure_records"("project_id", "id");
