-- The projects whose stale decisions are reported next.
CREATE INDEX CONCURRENTLY IF NOT EXISTS "projects_stale_report_due_at_idx" ON "core"."projects"("stale_report_due_at");
