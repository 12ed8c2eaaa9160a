-- Changes of decisions that are made at a set time, and what became of them.
CREATE TABLE "decision"."scheduled_changes" (
    "id" UUID NOT NULL,
    "project_id" UUID NOT NULL,
    "decision_id" UUID NOT NULL,
    "at" TIMESTAMPTZ(3) NOT NULL,
    "change" JSONB NOT NULL,
    "status" TEXT NOT NULL DEFAULT 'pending',
    "version" INTEGER,
    "error" TEXT,
    "scheduled_by_kind" TEXT NOT NULL,
    "scheduled_by_id" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "finished_at" TIMESTAMPTZ(3),

    CONSTRAINT "scheduled_changes_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "scheduled_changes_status" CHECK ("status" IN ('pending', 'applied', 'failed', 'cancelled')),
    CONSTRAINT "scheduled_changes_decision_id_fkey" FOREIGN KEY ("decision_id")
        REFERENCES "decision"."decisions"("id") ON DELETE CASCADE ON UPDATE CASCADE
);
CREATE INDEX "scheduled_changes_decision_id_id_idx" ON "decision"."scheduled_changes"("decision_id", "id");
CREATE INDEX "scheduled_changes_due_idx" ON "decision"."scheduled_changes"("at", "id") WHERE "status" = 'pending';
