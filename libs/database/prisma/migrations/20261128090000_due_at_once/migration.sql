-- Rounded to milliseconds, the present can be half a millisecond in the future, in which a notice would not be due yet.
ALTER TABLE "core"."alert_notices" ALTER COLUMN "due_at" SET DEFAULT date_trunc('milliseconds', now());
ALTER TABLE "decision"."proposal_notices" ALTER COLUMN "due_at" SET DEFAULT date_trunc('milliseconds', now());
ALTER TABLE "decision"."stale_notices" ALTER COLUMN "due_at" SET DEFAULT date_trunc('milliseconds', now());
ALTER TABLE "decision"."stop_notices" ALTER COLUMN "due_at" SET DEFAULT date_trunc('milliseconds', now());
