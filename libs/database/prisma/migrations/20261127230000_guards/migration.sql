-- What has become of rules with guards, and when guards are evaluated next. Null for decisions without guards.
ALTER TABLE "decision"."decisions" ADD COLUMN "states" JSONB;
ALTER TABLE "decision"."decisions" ADD COLUMN "guards_due_at" TIMESTAMPTZ(3);

-- Why a guard, or a person who resumed a decision, made a version.
ALTER TABLE "decision"."decision_versions" ADD COLUMN "evidence" JSONB;
ALTER TABLE "decision"."decision_versions" ADD COLUMN "reason" TEXT;

-- Emails that a guard stopped a decision. A row is deleted when its email was sent.
CREATE TABLE "decision"."stop_notices" (
    "id" UUID NOT NULL,
    "project_id" UUID NOT NULL,
    "decision_id" UUID NOT NULL,
    "recipient" TEXT NOT NULL,
    "evidence" JSONB NOT NULL,
    "due_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "attempts" INTEGER NOT NULL DEFAULT 0,

    CONSTRAINT "stop_notices_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "stop_notices_decision_id_fkey" FOREIGN KEY ("decision_id")
        REFERENCES "decision"."decisions"("id") ON DELETE CASCADE ON UPDATE CASCADE
);
CREATE INDEX "stop_notices_due_at_idx" ON "decision"."stop_notices"("due_at");
CREATE INDEX "stop_notices_decision_id_idx" ON "decision"."stop_notices"("decision_id");
