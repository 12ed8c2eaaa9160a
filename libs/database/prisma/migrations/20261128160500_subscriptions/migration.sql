-- Dashboards that members get by email after each day, week or month.
CREATE TABLE "core"."subscriptions" (
    "id" UUID NOT NULL,
    "project_id" UUID NOT NULL,
    "dashboard_id" UUID NOT NULL,
    "name" TEXT NOT NULL,
    "frequency" TEXT NOT NULL,
    "hour" INTEGER NOT NULL,
    "time_zone" TEXT NOT NULL,
    "email_roles" TEXT[],
    "user_ids" UUID[],
    "sent_until" TIMESTAMPTZ(3) NOT NULL,
    "attempts" INTEGER NOT NULL DEFAULT 0,
    "problem" TEXT,
    "due_at" TIMESTAMPTZ(3) NOT NULL,
    "version" INTEGER NOT NULL DEFAULT 1,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "subscriptions_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "subscriptions_project_id_fkey" FOREIGN KEY ("project_id")
        REFERENCES "core"."projects"("id") ON DELETE CASCADE ON UPDATE CASCADE,
    CONSTRAINT "subscriptions_dashboard_id_fkey" FOREIGN KEY ("dashboard_id")
        REFERENCES "core"."dashboards"("id") ON DELETE CASCADE ON UPDATE CASCADE
);
CREATE INDEX "subscriptions_project_id_id_idx" ON "core"."subscriptions"("project_id", "id");
CREATE INDEX "subscriptions_dashboard_id_idx" ON "core"."subscriptions"("dashboard_id");
CREATE INDEX "subscriptions_due_at_idx" ON "core"."subscriptions"("due_at");

-- Members who got one, or asked for it. They end with the membership.
CREATE TABLE "core"."subscription_recipients" (
    "id" UUID NOT NULL,
    "subscription_id" UUID NOT NULL,
    "project_id" UUID NOT NULL,
    "user_id" UUID NOT NULL,
    "address" TEXT NOT NULL,
    "unsubscribed_at" TIMESTAMPTZ(3),
    "requested_at" TIMESTAMPTZ(3),

    CONSTRAINT "subscription_recipients_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "subscription_recipients_subscription_id_fkey" FOREIGN KEY ("subscription_id")
        REFERENCES "core"."subscriptions"("id") ON DELETE CASCADE ON UPDATE CASCADE,
    CONSTRAINT "subscription_recipients_project_id_user_id_fkey" FOREIGN KEY ("project_id", "user_id")
        REFERENCES "core"."project_members"("project_id", "user_id") ON DELETE CASCADE ON UPDATE CASCADE
);
CREATE UNIQUE INDEX "subscription_recipients_subscription_id_user_id_key"
    ON "core"."subscription_recipients"("subscription_id", "user_id");
CREATE INDEX "subscription_recipients_project_id_user_id_idx"
    ON "core"."subscription_recipients"("project_id", "user_id");

-- What the newest period was reported with, and the newest test.
CREATE TABLE "core"."subscription_reports" (
    "id" UUID NOT NULL,
    "subscription_id" UUID NOT NULL,
    "is_test" BOOLEAN NOT NULL,
    "period_start" TIMESTAMPTZ(3) NOT NULL,
    "period_end" TIMESTAMPTZ(3) NOT NULL,
    "message" JSONB NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "subscription_reports_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "subscription_reports_subscription_id_fkey" FOREIGN KEY ("subscription_id")
        REFERENCES "core"."subscriptions"("id") ON DELETE CASCADE ON UPDATE CASCADE
);
CREATE UNIQUE INDEX "subscription_reports_subscription_id_is_test_key"
    ON "core"."subscription_reports"("subscription_id", "is_test");

-- The emails with them.
CREATE TABLE "core"."subscription_mails" (
    "id" UUID NOT NULL,
    "report_id" UUID NOT NULL,
    "recipient_id" UUID NOT NULL,
    "status" TEXT NOT NULL DEFAULT 'pending',
    "reason" TEXT,
    "due_at" TIMESTAMPTZ(3) NOT NULL DEFAULT date_trunc('milliseconds', now()),
    "attempts" INTEGER NOT NULL DEFAULT 0,
    "settled_at" TIMESTAMPTZ(3),

    CONSTRAINT "subscription_mails_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "subscription_mails_report_id_fkey" FOREIGN KEY ("report_id")
        REFERENCES "core"."subscription_reports"("id") ON DELETE CASCADE ON UPDATE CASCADE,
    CONSTRAINT "subscription_mails_recipient_id_fkey" FOREIGN KEY ("recipient_id")
        REFERENCES "core"."subscription_recipients"("id") ON DELETE CASCADE ON UPDATE CASCADE
);
CREATE UNIQUE INDEX "subscription_mails_report_id_recipient_id_key"
    ON "core"."subscription_mails"("report_id", "recipient_id");
CREATE INDEX "subscription_mails_recipient_id_idx" ON "core"."subscription_mails"("recipient_id");
CREATE INDEX "subscription_mails_status_due_at_idx" ON "core"."subscription_mails"("status", "due_at");
