-- Alerts on insights and on the web analytics.
CREATE TABLE "core"."alerts" (
    "id" UUID NOT NULL,
    "project_id" UUID NOT NULL,
    "name" TEXT NOT NULL,
    "insight_id" UUID,
    "measure" JSONB NOT NULL,
    "condition" JSONB NOT NULL,
    "interval" TEXT NOT NULL,
    "time_zone" TEXT NOT NULL,
    "email_roles" TEXT[],
    "webhooks" BOOLEAN NOT NULL,
    "slack_url" TEXT,
    "state" TEXT NOT NULL DEFAULT 'noData',
    "firing_since" TIMESTAMPTZ(3),
    "announced" BOOLEAN NOT NULL DEFAULT false,
    "muted_until" TIMESTAMPTZ(3),
    "bucket" TIMESTAMPTZ(3),
    "value" DOUBLE PRECISION,
    "expected" DOUBLE PRECISION,
    "deviation" DOUBLE PRECISION,
    "problem" TEXT,
    "due_at" TIMESTAMPTZ(3) NOT NULL,
    "version" INTEGER NOT NULL DEFAULT 1,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "alerts_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "alerts_project_id_fkey" FOREIGN KEY ("project_id")
        REFERENCES "core"."projects"("id") ON DELETE CASCADE ON UPDATE CASCADE,
    CONSTRAINT "alerts_insight_id_fkey" FOREIGN KEY ("insight_id")
        REFERENCES "core"."insights"("id") ON DELETE NO ACTION ON UPDATE CASCADE
);
CREATE INDEX "alerts_project_id_id_idx" ON "core"."alerts"("project_id", "id");
CREATE INDEX "alerts_insight_id_idx" ON "core"."alerts"("insight_id");
CREATE INDEX "alerts_due_at_idx" ON "core"."alerts"("due_at");

-- What they found in each interval.
CREATE TABLE "core"."alert_evaluations" (
    "id" UUID NOT NULL,
    "alert_id" UUID NOT NULL,
    "bucket" TIMESTAMPTZ(3) NOT NULL,
    "state" TEXT NOT NULL,
    "change" TEXT,
    "value" DOUBLE PRECISION,
    "expected" DOUBLE PRECISION,
    "deviation" DOUBLE PRECISION,
    "evaluated_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "alert_evaluations_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "alert_evaluations_alert_id_fkey" FOREIGN KEY ("alert_id")
        REFERENCES "core"."alerts"("id") ON DELETE CASCADE ON UPDATE CASCADE
);
CREATE INDEX "alert_evaluations_alert_id_id_idx" ON "core"."alert_evaluations"("alert_id", "id");
CREATE INDEX "alert_evaluations_alert_id_bucket_idx" ON "core"."alert_evaluations"("alert_id", "bucket");

-- Emails and messages to Slack about them. A row is deleted when it was sent.
CREATE TABLE "core"."alert_notices" (
    "id" UUID NOT NULL,
    "alert_id" UUID NOT NULL,
    "channel" TEXT NOT NULL,
    "recipient" TEXT NOT NULL,
    "message" JSONB NOT NULL,
    "due_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "attempts" INTEGER NOT NULL DEFAULT 0,

    CONSTRAINT "alert_notices_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "alert_notices_alert_id_fkey" FOREIGN KEY ("alert_id")
        REFERENCES "core"."alerts"("id") ON DELETE CASCADE ON UPDATE CASCADE
);
CREATE INDEX "alert_notices_channel_due_at_idx" ON "core"."alert_notices"("channel", "due_at");
CREATE INDEX "alert_notices_alert_id_idx" ON "core"."alert_notices"("alert_id");
