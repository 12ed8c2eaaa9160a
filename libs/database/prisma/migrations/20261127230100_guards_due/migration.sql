CREATE INDEX CONCURRENTLY IF NOT EXISTS "decisions_guards_due_idx" ON "decision"."decisions"("guards_due_at") WHERE "guards_due_at" IS NOT NULL;
