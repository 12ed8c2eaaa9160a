-- The writer counts the events of a segment that were received at or after `counts_from`, when all processes know of it.
-- Those from before are counted from the column store, which has no part in the writer's transaction, so apart from the
-- others. Those that were counted completely before this version have no such time.
ALTER TABLE "decision"."counted_events" ADD COLUMN "counts_from" TIMESTAMPTZ(3),
    ADD COLUMN "passes" INTEGER NOT NULL DEFAULT 0;
UPDATE "decision"."counted_events" SET "due_at" = NULL, "counted_key" = NULL WHERE "completed_at" IS NULL;
UPDATE "decision"."counted_events" SET "passes" = 3 WHERE "completed_at" IS NOT NULL;

-- `n` of events since `counts_from`, and `earlier` of those before it.
ALTER TABLE "decision"."profile_event_counts" ADD COLUMN "counts_from" TIMESTAMPTZ(3),
    ADD COLUMN "earlier" INTEGER NOT NULL DEFAULT 0;
