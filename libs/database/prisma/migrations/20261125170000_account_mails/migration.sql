-- Null until the user has opened a link that was mailed to the address.
ALTER TABLE "core"."users" ADD COLUMN "email_verified_at" TIMESTAMPTZ(3);

-- Emails to users about their account. A password reset is stored before it is known whether the address has an
-- account, so that the request does the same work for every address.
CREATE TABLE "email"."account_mails" (
    "id" UUID NOT NULL,
    "kind" TEXT NOT NULL,
    "recipient" TEXT NOT NULL,
    "user_id" UUID,
    "token_hash" BYTEA,
    "token_expires_at" TIMESTAMPTZ(3),
    "mail_due_at" TIMESTAMPTZ(3),
    "mail_attempts" INTEGER NOT NULL DEFAULT 0,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "account_mails_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "account_mails_kind" CHECK ("kind" IN ('reset_password', 'verify_email', 'password_changed')),
    CONSTRAINT "account_mails_lower_case" CHECK ("recipient" = lower("recipient")),
    CONSTRAINT "account_mails_token" CHECK (("token_hash" IS NULL) = ("token_expires_at" IS NULL)),
    CONSTRAINT "account_mails_token_hash_length" CHECK (octet_length("token_hash") = 32),
    CONSTRAINT "account_mails_user_id_fkey" FOREIGN KEY ("user_id")
        REFERENCES "core"."users"("id") ON DELETE CASCADE ON UPDATE CASCADE
);
CREATE UNIQUE INDEX "account_mails_token_hash_key" ON "email"."account_mails"("token_hash");
CREATE INDEX "account_mails_user_id_idx" ON "email"."account_mails"("user_id");
CREATE INDEX "account_mails_created_at_idx" ON "email"."account_mails"("created_at");
CREATE INDEX "account_mails_mail_due_at_idx" ON "email"."account_mails"("mail_due_at") WHERE "mail_due_at" IS NOT NULL;
CREATE INDEX "account_mails_unknown_user_idx" ON "email"."account_mails"("created_at") WHERE "user_id" IS NULL;
