ALTER TABLE "ingest"."profiles" ADD COLUMN "version" BIGINT NOT NULL DEFAULT 0;
