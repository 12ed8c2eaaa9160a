-- Proposed changes of decisions, which need approvals.
CREATE TABLE "decision"."proposals" (
    "id" UUID NOT NULL,
    "project_id" UUID NOT NULL,
    "decision_id" UUID NOT NULL,
    "status" TEXT NOT NULL DEFAULT 'open',
    "revision" INTEGER NOT NULL DEFAULT 1,
    "base_version" INTEGER NOT NULL,
    "request" JSONB NOT NULL,
    "decision_status" TEXT NOT NULL,
    "definition" JSONB NOT NULL,
    "at" TIMESTAMPTZ(3),
    "due_at" TIMESTAMPTZ(3),
    "comment" TEXT,
    "proposed_by_kind" TEXT NOT NULL,
    "proposed_by_id" TEXT NOT NULL,
    "authors" TEXT[],
    "anonymous" BOOLEAN NOT NULL DEFAULT false,
    "version" INTEGER,
    "error" TEXT,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "finished_at" TIMESTAMPTZ(3),

    CONSTRAINT "proposals_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "proposals_decision_id_fkey" FOREIGN KEY ("decision_id")
        REFERENCES "decision"."decisions"("id") ON DELETE CASCADE ON UPDATE CASCADE
);
CREATE INDEX "proposals_project_id_id_idx" ON "decision"."proposals"("project_id", "id");
CREATE INDEX "proposals_decision_id_id_idx" ON "decision"."proposals"("decision_id", "id");
CREATE INDEX "proposals_due_idx" ON "decision"."proposals"("due_at") WHERE "due_at" IS NOT NULL;

-- What members said of revisions of them.
CREATE TABLE "decision"."proposal_reviews" (
    "id" UUID NOT NULL,
    "proposal_id" UUID NOT NULL,
    "revision" INTEGER NOT NULL,
    "reviewer_id" UUID NOT NULL,
    "verdict" TEXT NOT NULL,
    "comment" TEXT,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "proposal_reviews_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "proposal_reviews_proposal_id_fkey" FOREIGN KEY ("proposal_id")
        REFERENCES "decision"."proposals"("id") ON DELETE CASCADE ON UPDATE CASCADE
);
CREATE UNIQUE INDEX "proposal_reviews_proposal_id_revision_reviewer_id_key"
    ON "decision"."proposal_reviews"("proposal_id", "revision", "reviewer_id");

-- Emails about them. A row is deleted when its email was sent.
CREATE TABLE "decision"."proposal_notices" (
    "id" UUID NOT NULL,
    "proposal_id" UUID NOT NULL,
    "kind" TEXT NOT NULL,
    "recipient" TEXT NOT NULL,
    "actor" TEXT NOT NULL,
    "comment" TEXT,
    "due_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "attempts" INTEGER NOT NULL DEFAULT 0,

    CONSTRAINT "proposal_notices_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "proposal_notices_proposal_id_fkey" FOREIGN KEY ("proposal_id")
        REFERENCES "decision"."proposals"("id") ON DELETE CASCADE ON UPDATE CASCADE
);
CREATE INDEX "proposal_notices_due_at_idx" ON "decision"."proposal_notices"("due_at");
CREATE INDEX "proposal_notices_proposal_id_idx" ON "decision"."proposal_notices"("proposal_id");

-- Why someone did it, of operations that need a reason.
ALTER TABLE "core"."audit_log" ADD COLUMN "reason" TEXT;
