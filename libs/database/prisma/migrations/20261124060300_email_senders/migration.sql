-- Addresses and domains that a tenant's emails may come from, once the link that was mailed to them is followed.
CREATE TABLE "email"."senders" (
    "id" UUID NOT NULL,
    "tenant_id" UUID NOT NULL,
    "sender" TEXT NOT NULL,
    "recipient" TEXT NOT NULL,
    "token_hash" BYTEA,
    "token_expires_at" TIMESTAMPTZ(3),
    "mail_due_at" TIMESTAMPTZ(3),
    "mail_attempts" INTEGER NOT NULL DEFAULT 0,
    "mail_error" TEXT,
    "verified_at" TIMESTAMPTZ(3),
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "senders_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "senders_lower_case" CHECK ("sender" = lower("sender")),
    CONSTRAINT "senders_token" CHECK (("token_hash" IS NULL) = ("token_expires_at" IS NULL)),
    CONSTRAINT "senders_token_hash_length" CHECK (octet_length("token_hash") = 32),
    CONSTRAINT "senders_tenant_id_fkey" FOREIGN KEY ("tenant_id")
        REFERENCES "core"."tenants"("id") ON DELETE CASCADE ON UPDATE CASCADE
);
CREATE UNIQUE INDEX "senders_tenant_id_sender_key" ON "email"."senders"("tenant_id", "sender");
CREATE UNIQUE INDEX "senders_token_hash_key" ON "email"."senders"("token_hash");
CREATE INDEX "senders_mail_due_at_idx" ON "email"."senders"("mail_due_at") WHERE "mail_due_at" IS NOT NULL;

-- Emails that a project handed over in an hour, over all processes. Rows of past days are deleted.
CREATE TABLE "email"."hourly_counts" (
    "project_id" UUID NOT NULL,
    "hour" TIMESTAMPTZ(3) NOT NULL,
    "sent" INTEGER NOT NULL,

    CONSTRAINT "hourly_counts_pkey" PRIMARY KEY ("project_id", "hour"),
    CONSTRAINT "hourly_counts_project_id_fkey" FOREIGN KEY ("project_id")
        REFERENCES "core"."projects"("id") ON DELETE CASCADE ON UPDATE CASCADE
);
