-- Personal access tokens: a user's programs act with the role that the user has at that moment.
CREATE TABLE "core"."access_tokens" (
    "id" UUID NOT NULL,
    "user_id" UUID NOT NULL,
    "name" TEXT NOT NULL,
    "token_hash" BYTEA NOT NULL,
    "all_projects" BOOLEAN NOT NULL,
    "project_ids" UUID[] NOT NULL DEFAULT '{}',
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "last_used_at" TIMESTAMPTZ(3),
    "expires_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "access_tokens_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "access_tokens_token_hash_length" CHECK (octet_length("token_hash") = 32),
    CONSTRAINT "access_tokens_projects" CHECK ("all_projects" = (cardinality("project_ids") = 0)),
    CONSTRAINT "access_tokens_user_id_fkey" FOREIGN KEY ("user_id")
        REFERENCES "core"."users"("id") ON DELETE CASCADE ON UPDATE CASCADE
);
CREATE UNIQUE INDEX "access_tokens_token_hash_key" ON "core"."access_tokens"("token_hash");
CREATE INDEX "access_tokens_user_id_idx" ON "core"."access_tokens"("user_id");
CREATE INDEX "access_tokens_expires_at_idx" ON "core"."access_tokens"("expires_at");

ALTER TABLE "email"."account_mails" DROP CONSTRAINT "account_mails_kind";
ALTER TABLE "email"."account_mails" ADD CONSTRAINT "account_mails_kind"
    CHECK ("kind" IN ('reset_password', 'verify_email', 'password_changed', 'access_token_created'));
