-- Recognizes an event whose id belongs to an event with another name, also when that one is not stored any more. NULL for
-- ids of earlier versions.
ALTER TABLE "ingest"."event_ids" ADD COLUMN "name_hash" INTEGER;
