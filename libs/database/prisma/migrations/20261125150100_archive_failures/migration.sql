-- How often a file could not be written. A file that fails is tried less and less often.
ALTER TABLE "ingest"."archive_files" ADD COLUMN "failures" INTEGER NOT NULL DEFAULT 0;
