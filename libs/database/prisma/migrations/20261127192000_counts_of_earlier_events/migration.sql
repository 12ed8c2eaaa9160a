-- The writer counts the events of a segment that were received at or after `counts_from`, when all processes know of it.
-- Those from before are counted from the column store, which has no part in the writer's transaction, so apart from the
-- others. Those that were counted before this version have no such time, and are not counted again.
ALTER TABLE "decision"."counted_events" ADD COLUMN "counts_from" TIMESTAMPTZ(3),
    ADD COLUMN "passes" INTEGER NOT NULL DEFAULT 3,
    ADD COLUMN "counted_person" UUID;
ALTER TABLE "decision"."counted_events" ALTER COLUMN "passes" SET DEFAULT 0;

-- `n` of events since `counts_from`, and `earlier` of those before it.
ALTER TABLE "decision"."profile_event_counts" ADD COLUMN "counts_from" TIMESTAMPTZ(3),
    ADD COLUMN "earlier" INTEGER NOT NULL DEFAULT 0;
