-- The last day on which a request asked for a decision, at first that of its creation or of the upgrade.
ALTER TABLE "decision"."decisions" ADD COLUMN "evaluated_on" DATE NOT NULL DEFAULT CURRENT_DATE;

-- When the stale decisions of a project are reported next.
ALTER TABLE "core"."projects"
    ADD COLUMN "stale_report_due_at" TIMESTAMPTZ(3) NOT NULL DEFAULT now() + interval '7 days';

-- Emails about them. A row is deleted when its email was sent.
CREATE TABLE "decision"."stale_notices" (
    "id" UUID NOT NULL,
    "project_id" UUID NOT NULL,
    "recipient" TEXT NOT NULL,
    "decisions" JSONB NOT NULL,
    "total" INTEGER NOT NULL,
    "due_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "attempts" INTEGER NOT NULL DEFAULT 0,

    CONSTRAINT "stale_notices_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "stale_notices_project_id_fkey" FOREIGN KEY ("project_id")
        REFERENCES "core"."projects"("id") ON DELETE CASCADE ON UPDATE CASCADE
);
CREATE INDEX "stale_notices_due_at_idx" ON "decision"."stale_notices"("due_at");
CREATE INDEX "stale_notices_project_id_idx" ON "decision"."stale_notices"("project_id");
