CREATE SCHEMA IF NOT EXISTS "decision";

CREATE TABLE "decision"."decisions" (
    "id" UUID NOT NULL,
    "project_id" UUID NOT NULL,
    "key" TEXT NOT NULL,
    "status" TEXT NOT NULL,
    "version" INTEGER NOT NULL DEFAULT 1,
    "definition" JSONB NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "decisions_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "decisions_status" CHECK ("status" IN ('draft', 'active', 'paused', 'archived')),
    CONSTRAINT "decisions_project_id_fkey" FOREIGN KEY ("project_id")
        REFERENCES "core"."projects"("id") ON DELETE CASCADE ON UPDATE CASCADE
);
CREATE UNIQUE INDEX "decisions_project_id_key_key" ON "decision"."decisions"("project_id", "key");

-- Every version that there ever was, the newest included.
CREATE TABLE "decision"."decision_versions" (
    "decision_id" UUID NOT NULL,
    "version" INTEGER NOT NULL,
    "change" TEXT NOT NULL,
    "status" TEXT NOT NULL,
    "definition" JSONB NOT NULL,
    "changed_by_kind" TEXT NOT NULL,
    "changed_by_id" TEXT NOT NULL,
    "changed_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "decision_versions_pkey" PRIMARY KEY ("decision_id", "version"),
    CONSTRAINT "decision_versions_decision_id_fkey" FOREIGN KEY ("decision_id")
        REFERENCES "decision"."decisions"("id") ON DELETE CASCADE ON UPDATE CASCADE
);

-- Without a foreign key: what was exposed is told by a stream, which knows nothing of deletions.
CREATE TABLE "decision"."exposures" (
    "decision_id" UUID NOT NULL,
    "variant" TEXT NOT NULL,
    "profile_id" UUID NOT NULL,
    "day" DATE NOT NULL,
    "project_id" UUID NOT NULL,
    "reason" TEXT NOT NULL,
    "rule_id" TEXT,
    "version" INTEGER NOT NULL,
    "subject" TEXT NOT NULL,
    "exposed_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "exposures_pkey" PRIMARY KEY ("decision_id", "variant", "profile_id", "day")
);

-- How often people did what conditions ask about, by day (UTC).
CREATE TABLE "decision"."profile_event_counts" (
    "profile_id" UUID NOT NULL,
    "event" TEXT NOT NULL,
    "day" DATE NOT NULL,
    "n" INTEGER NOT NULL,

    CONSTRAINT "profile_event_counts_pkey" PRIMARY KEY ("profile_id", "event", "day")
);
CREATE INDEX "profile_event_counts_day_idx" ON "decision"."profile_event_counts"("day");
