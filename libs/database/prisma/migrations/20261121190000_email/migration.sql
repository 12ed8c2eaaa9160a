CREATE SCHEMA IF NOT EXISTS "email";

CREATE TABLE "email"."triggers" (
    "id" UUID NOT NULL,
    "project_id" UUID NOT NULL,
    "name" TEXT NOT NULL,
    "event_name" TEXT NOT NULL,
    "filter" JSONB,
    "subject" TEXT NOT NULL,
    "html" TEXT NOT NULL,
    "from" TEXT,
    "cooldown_seconds" INTEGER NOT NULL DEFAULT 0,
    "status" TEXT NOT NULL,
    "activated_at" TIMESTAMPTZ(3),
    "version" INTEGER NOT NULL DEFAULT 1,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "triggers_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "triggers_status" CHECK ("status" IN ('draft', 'active', 'paused', 'archived')),
    CONSTRAINT "triggers_active_since" CHECK ("status" <> 'active' OR "activated_at" IS NOT NULL),
    CONSTRAINT "triggers_cooldown" CHECK ("cooldown_seconds" >= 0),
    CONSTRAINT "triggers_project_id_fkey" FOREIGN KEY ("project_id")
        REFERENCES "core"."projects"("id") ON DELETE CASCADE ON UPDATE CASCADE
);
CREATE INDEX "triggers_project_id_id_idx" ON "email"."triggers"("project_id", "id");

-- What became of a trigger for an event. A row stays for ever, since it is what keeps a second email from being sent.
CREATE TABLE "email"."deliveries" (
    "id" UUID NOT NULL,
    "project_id" UUID NOT NULL,
    "trigger_id" UUID NOT NULL,
    "event_key" UUID NOT NULL,
    "event_id" TEXT NOT NULL,
    "profile_id" UUID,
    "recipient" TEXT,
    "test" BOOLEAN NOT NULL DEFAULT false,
    "status" TEXT NOT NULL,
    "reason" TEXT,
    "attempts" INTEGER NOT NULL DEFAULT 0,
    "next_attempt_at" TIMESTAMPTZ(3),
    "attempt_token" UUID,
    "context" JSONB,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "queued_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "sent_at" TIMESTAMPTZ(3),

    CONSTRAINT "deliveries_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "deliveries_status" CHECK ("status" IN ('pending', 'sending', 'sent', 'unconfirmed', 'bounced', 'failed',
        'canceled', 'skipped_no_email', 'suppressed', 'cooldown')),
    -- Exactly what is on the timetable has a time, and somebody to write to.
    CONSTRAINT "deliveries_timetable" CHECK (("status" IN ('pending', 'sending')) = ("next_attempt_at" IS NOT NULL)),
    CONSTRAINT "deliveries_recipient" CHECK ("next_attempt_at" IS NULL OR "recipient" IS NOT NULL),
    CONSTRAINT "deliveries_trigger_id_fkey" FOREIGN KEY ("trigger_id")
        REFERENCES "email"."triggers"("id") ON DELETE CASCADE ON UPDATE CASCADE
);
CREATE UNIQUE INDEX "deliveries_trigger_id_event_key_key" ON "email"."deliveries"("trigger_id", "event_key");
CREATE INDEX "deliveries_project_id_id_idx" ON "email"."deliveries"("project_id", "id");
CREATE INDEX "deliveries_project_id_status_id_idx" ON "email"."deliveries"("project_id", "status", "id");
CREATE INDEX "deliveries_trigger_id_status_id_idx" ON "email"."deliveries"("trigger_id", "status", "id");
CREATE INDEX "deliveries_next_attempt_at_idx" ON "email"."deliveries"("next_attempt_at") WHERE "next_attempt_at" IS NOT NULL;

-- When a profile last got an email of a trigger that has a cooldown. The row's lock makes the cooldown exact.
CREATE TABLE "email"."cooldowns" (
    "trigger_id" UUID NOT NULL,
    "profile_id" UUID NOT NULL,
    "started_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "cooldowns_pkey" PRIMARY KEY ("trigger_id", "profile_id"),
    CONSTRAINT "cooldowns_trigger_id_fkey" FOREIGN KEY ("trigger_id")
        REFERENCES "email"."triggers"("id") ON DELETE CASCADE ON UPDATE CASCADE
);

CREATE TABLE "email"."suppressions" (
    "id" UUID NOT NULL,
    "project_id" UUID NOT NULL,
    "address" TEXT NOT NULL,
    "reason" TEXT NOT NULL,
    "detail" TEXT,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "suppressions_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "suppressions_reason" CHECK ("reason" IN ('unsubscribed', 'bounced', 'complained', 'manual')),
    CONSTRAINT "suppressions_project_id_fkey" FOREIGN KEY ("project_id")
        REFERENCES "core"."projects"("id") ON DELETE CASCADE ON UPDATE CASCADE
);
CREATE UNIQUE INDEX "suppressions_project_id_address_key" ON "email"."suppressions"("project_id", "address");
CREATE INDEX "suppressions_project_id_id_idx" ON "email"."suppressions"("project_id", "id");
