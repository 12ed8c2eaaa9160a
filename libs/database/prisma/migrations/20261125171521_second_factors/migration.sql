-- The authenticator app of a user. A secret is pending until a code of it was sent.
CREATE TABLE "core"."second_factors" (
    "user_id" UUID NOT NULL,
    "secret" BYTEA,
    "set_up_at" TIMESTAMPTZ(3),
    "last_step" INTEGER NOT NULL DEFAULT 0,
    "pending_secret" BYTEA,

    CONSTRAINT "second_factors_pkey" PRIMARY KEY ("user_id"),
    CONSTRAINT "second_factors_set_up" CHECK (("secret" IS NULL) = ("set_up_at" IS NULL)),
    CONSTRAINT "second_factors_user_id_fkey" FOREIGN KEY ("user_id")
        REFERENCES "core"."users"("id") ON DELETE CASCADE ON UPDATE CASCADE
);

-- Codes that replace the authenticator app once. A used code is deleted.
CREATE TABLE "core"."recovery_codes" (
    "user_id" UUID NOT NULL,
    "code_hash" BYTEA NOT NULL,

    CONSTRAINT "recovery_codes_pkey" PRIMARY KEY ("user_id", "code_hash"),
    CONSTRAINT "recovery_codes_code_hash_length" CHECK (octet_length("code_hash") = 32),
    CONSTRAINT "recovery_codes_user_id_fkey" FOREIGN KEY ("user_id")
        REFERENCES "core"."users"("id") ON DELETE CASCADE ON UPDATE CASCADE
);

-- Sign-ins whose password was right and whose second factor is awaited.
CREATE TABLE "core"."sign_in_challenges" (
    "id" UUID NOT NULL,
    "user_id" UUID NOT NULL,
    "token_hash" BYTEA NOT NULL,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "sign_in_challenges_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "sign_in_challenges_token_hash_length" CHECK (octet_length("token_hash") = 32),
    CONSTRAINT "sign_in_challenges_user_id_fkey" FOREIGN KEY ("user_id")
        REFERENCES "core"."users"("id") ON DELETE CASCADE ON UPDATE CASCADE
);
CREATE UNIQUE INDEX "sign_in_challenges_token_hash_key" ON "core"."sign_in_challenges"("token_hash");
CREATE INDEX "sign_in_challenges_user_id_idx" ON "core"."sign_in_challenges"("user_id");
CREATE INDEX "sign_in_challenges_expires_at_idx" ON "core"."sign_in_challenges"("expires_at");

-- When the user last proved who they are, after the sign-in itself.
ALTER TABLE "core"."sessions" ADD COLUMN "verified_at" TIMESTAMPTZ(3);

-- Whether members need a second factor to reach the tenant's projects.
ALTER TABLE "core"."tenants" ADD COLUMN "requires_second_factor" BOOLEAN NOT NULL DEFAULT false;

ALTER TABLE "email"."account_mails" DROP CONSTRAINT "account_mails_kind";
ALTER TABLE "email"."account_mails" ADD CONSTRAINT "account_mails_kind"
    CHECK ("kind" IN ('reset_password', 'verify_email', 'password_changed', 'access_token_created', 'sign_in_method_added',
        'second_factor_added', 'second_factor_removed', 'recovery_code_used', 'recovery_codes_renewed'));
