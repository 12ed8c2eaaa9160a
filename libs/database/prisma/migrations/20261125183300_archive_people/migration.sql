-- Four bytes of the id of each person with events in the file, so that an erasure reads only files that may have the person.
-- Null for files from before, which are read.
ALTER TABLE "ingest"."archive_files" ADD COLUMN "people" INTEGER[];
