-- Rounded to milliseconds, the present can be half a millisecond in the future, when the earlier events were not due yet.
ALTER TABLE "decision"."counted_events" ALTER COLUMN "since" SET DEFAULT date_trunc('milliseconds', now());
