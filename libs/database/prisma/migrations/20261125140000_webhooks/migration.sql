CREATE SCHEMA IF NOT EXISTS "webhook";

CREATE TABLE "webhook"."webhooks" (
    "id" UUID NOT NULL,
    "project_id" UUID NOT NULL,
    "owner_id" UUID,
    "url" TEXT NOT NULL,
    "topics" TEXT[] NOT NULL,
    "event_names" TEXT[] NOT NULL,
    "filter" JSONB,
    "status" TEXT NOT NULL,
    "paused_reason" TEXT,
    "activated_at" TIMESTAMPTZ(3),
    "secret" TEXT NOT NULL,
    "previous_secret" TEXT,
    "previous_secret_expires_at" TIMESTAMPTZ(3),
    "failures" INTEGER NOT NULL DEFAULT 0,
    "failing_since" TIMESTAMPTZ(3),
    "blocked_until" TIMESTAMPTZ(3),
    "notice_due_at" TIMESTAMPTZ(3),
    "notice_recipient" TEXT,
    "notice_attempts" INTEGER NOT NULL DEFAULT 0,
    "version" INTEGER NOT NULL DEFAULT 1,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "webhooks_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "webhooks_status" CHECK ("status" IN ('active', 'paused')),
    CONSTRAINT "webhooks_paused_reason" CHECK ("paused_reason" IN ('gone', 'failing')),
    CONSTRAINT "webhooks_active_since" CHECK ("status" <> 'active' OR "activated_at" IS NOT NULL),
    CONSTRAINT "webhooks_previous_secret" CHECK (("previous_secret" IS NULL) = ("previous_secret_expires_at" IS NULL)),
    CONSTRAINT "webhooks_project_id_fkey" FOREIGN KEY ("project_id")
        REFERENCES "core"."projects"("id") ON DELETE CASCADE ON UPDATE CASCADE,
    CONSTRAINT "webhooks_owner_id_fkey" FOREIGN KEY ("owner_id")
        REFERENCES "core"."users"("id") ON DELETE SET NULL ON UPDATE CASCADE
);
CREATE INDEX "webhooks_project_id_id_idx" ON "webhook"."webhooks"("project_id", "id");
CREATE INDEX "webhooks_notice_due_at_idx" ON "webhook"."webhooks"("notice_due_at") WHERE "notice_due_at" IS NOT NULL;

-- A message to an endpoint. The unique key has each message stored once per webhook, however often its record arrives.
CREATE TABLE "webhook"."deliveries" (
    "id" UUID NOT NULL,
    "project_id" UUID NOT NULL,
    "webhook_id" UUID NOT NULL,
    "topic" TEXT NOT NULL,
    "message_key" UUID NOT NULL,
    "profile_id" UUID,
    "ordering_key" UUID,
    "test" BOOLEAN NOT NULL DEFAULT false,
    "payload" TEXT NOT NULL,
    "status" TEXT NOT NULL,
    "attempts" INTEGER NOT NULL DEFAULT 0,
    "next_attempt_at" TIMESTAMPTZ(3),
    "attempt_token" UUID,
    "response_status" INTEGER,
    "response_body" TEXT,
    "error" TEXT,
    "duration_ms" INTEGER,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "queued_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "delivered_at" TIMESTAMPTZ(3),

    CONSTRAINT "deliveries_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "deliveries_status" CHECK ("status" IN ('pending', 'delivered', 'failed')),
    CONSTRAINT "deliveries_next_attempt" CHECK (("status" = 'pending') = ("next_attempt_at" IS NOT NULL)),
    CONSTRAINT "deliveries_webhook_id_fkey" FOREIGN KEY ("webhook_id")
        REFERENCES "webhook"."webhooks"("id") ON DELETE CASCADE ON UPDATE CASCADE
);
CREATE UNIQUE INDEX "deliveries_webhook_id_topic_message_key_key" ON "webhook"."deliveries"("webhook_id", "topic", "message_key");
CREATE INDEX "deliveries_webhook_id_id_idx" ON "webhook"."deliveries"("webhook_id", "id");
CREATE INDEX "deliveries_webhook_id_created_at_idx" ON "webhook"."deliveries"("webhook_id", "created_at");
CREATE INDEX "deliveries_project_id_profile_id_idx" ON "webhook"."deliveries"("project_id", "profile_id");
CREATE INDEX "deliveries_due_idx" ON "webhook"."deliveries"("webhook_id", "next_attempt_at", "id") WHERE "status" = 'pending';
CREATE INDEX "deliveries_due_tests_idx" ON "webhook"."deliveries"("webhook_id", "next_attempt_at") WHERE "status" = 'pending' AND "test";
CREATE INDEX "deliveries_in_flight_idx" ON "webhook"."deliveries"("webhook_id", "ordering_key") WHERE "attempt_token" IS NOT NULL;
