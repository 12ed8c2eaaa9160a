-- Sign-in with the OpenID Connect providers of tenants.
ALTER TABLE "core"."tenants" ADD COLUMN "oidc_only" BOOLEAN NOT NULL DEFAULT false;

CREATE TABLE "core"."oidc_providers" (
    "id" UUID NOT NULL,
    "tenant_id" UUID NOT NULL,
    "name" TEXT NOT NULL,
    "issuer" TEXT NOT NULL,
    "client_id" TEXT NOT NULL,
    "client_secret" TEXT,
    "scopes" TEXT[] NOT NULL DEFAULT '{}',
    "groups_claim" TEXT NOT NULL DEFAULT 'groups',
    "role_mappings" JSONB NOT NULL DEFAULT '[]',
    "version" INTEGER NOT NULL DEFAULT 1,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "oidc_providers_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "oidc_providers_tenant_id_fkey" FOREIGN KEY ("tenant_id")
        REFERENCES "core"."tenants"("id") ON DELETE CASCADE ON UPDATE CASCADE
);
CREATE INDEX "oidc_providers_tenant_id_idx" ON "core"."oidc_providers"("tenant_id");

-- Domains whose DNS a tenant has proved to control.
CREATE TABLE "core"."tenant_domains" (
    "id" UUID NOT NULL,
    "tenant_id" UUID NOT NULL,
    "domain" TEXT NOT NULL,
    "token" TEXT NOT NULL,
    "verified_at" TIMESTAMPTZ(3),
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "tenant_domains_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "tenant_domains_lower_case" CHECK ("domain" = lower("domain")),
    CONSTRAINT "tenant_domains_tenant_id_fkey" FOREIGN KEY ("tenant_id")
        REFERENCES "core"."tenants"("id") ON DELETE CASCADE ON UPDATE CASCADE
);
CREATE UNIQUE INDEX "tenant_domains_tenant_id_domain_key" ON "core"."tenant_domains"("tenant_id", "domain");
CREATE INDEX "tenant_domains_domain_idx" ON "core"."tenant_domains"("domain");

-- Users as providers know them.
CREATE TABLE "core"."user_identities" (
    "id" UUID NOT NULL,
    "user_id" UUID NOT NULL,
    "provider_id" UUID NOT NULL,
    "subject" TEXT NOT NULL,
    "email" TEXT,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "last_used_at" TIMESTAMPTZ(3),

    CONSTRAINT "user_identities_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "user_identities_user_id_fkey" FOREIGN KEY ("user_id")
        REFERENCES "core"."users"("id") ON DELETE CASCADE ON UPDATE CASCADE,
    CONSTRAINT "user_identities_provider_id_fkey" FOREIGN KEY ("provider_id")
        REFERENCES "core"."oidc_providers"("id") ON DELETE CASCADE ON UPDATE CASCADE
);
CREATE UNIQUE INDEX "user_identities_provider_id_subject_key" ON "core"."user_identities"("provider_id", "subject");
CREATE UNIQUE INDEX "user_identities_user_id_provider_id_key" ON "core"."user_identities"("user_id", "provider_id");

-- A session or access token of a provider's sign-in ends with its identity.
ALTER TABLE "core"."sessions" ADD COLUMN "identity_id" UUID, ADD COLUMN "provider_session_id" TEXT,
    ADD CONSTRAINT "sessions_identity_id_fkey" FOREIGN KEY ("identity_id")
        REFERENCES "core"."user_identities"("id") ON DELETE CASCADE ON UPDATE CASCADE;
CREATE INDEX "sessions_identity_id_idx" ON "core"."sessions"("identity_id");
ALTER TABLE "core"."access_tokens" ADD COLUMN "identity_id" UUID,
    ADD CONSTRAINT "access_tokens_identity_id_fkey" FOREIGN KEY ("identity_id")
        REFERENCES "core"."user_identities"("id") ON DELETE CASCADE ON UPDATE CASCADE;
CREATE INDEX "access_tokens_identity_id_idx" ON "core"."access_tokens"("identity_id");

-- The provider whose role mappings gave the member the role.
ALTER TABLE "core"."project_members" ADD COLUMN "provider_id" UUID,
    ADD CONSTRAINT "project_members_provider_id_fkey" FOREIGN KEY ("provider_id")
        REFERENCES "core"."oidc_providers"("id") ON DELETE SET NULL ON UPDATE CASCADE;
CREATE INDEX "project_members_provider_id_idx" ON "core"."project_members"("provider_id");

-- Sign-ins for which a browser is at a provider.
CREATE TABLE "core"."oidc_sign_ins" (
    "id" UUID NOT NULL,
    "state_hash" BYTEA NOT NULL,
    "browser_hash" BYTEA NOT NULL,
    "provider_id" UUID NOT NULL,
    "session_id" UUID,
    "code_verifier" TEXT NOT NULL,
    "nonce" TEXT NOT NULL,
    "next" TEXT,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "oidc_sign_ins_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "oidc_sign_ins_provider_id_fkey" FOREIGN KEY ("provider_id")
        REFERENCES "core"."oidc_providers"("id") ON DELETE CASCADE ON UPDATE CASCADE,
    CONSTRAINT "oidc_sign_ins_session_id_fkey" FOREIGN KEY ("session_id")
        REFERENCES "core"."sessions"("id") ON DELETE CASCADE ON UPDATE CASCADE
);
CREATE UNIQUE INDEX "oidc_sign_ins_state_hash_key" ON "core"."oidc_sign_ins"("state_hash");
CREATE INDEX "oidc_sign_ins_provider_id_idx" ON "core"."oidc_sign_ins"("provider_id");
CREATE INDEX "oidc_sign_ins_session_id_idx" ON "core"."oidc_sign_ins"("session_id");
CREATE INDEX "oidc_sign_ins_expires_at_idx" ON "core"."oidc_sign_ins"("expires_at");

-- Log-out tokens that were used, until they expire.
CREATE TABLE "core"."oidc_logout_tokens" (
    "provider_id" UUID NOT NULL,
    "jti_hash" BYTEA NOT NULL,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "oidc_logout_tokens_pkey" PRIMARY KEY ("provider_id", "jti_hash"),
    CONSTRAINT "oidc_logout_tokens_provider_id_fkey" FOREIGN KEY ("provider_id")
        REFERENCES "core"."oidc_providers"("id") ON DELETE CASCADE ON UPDATE CASCADE
);
CREATE INDEX "oidc_logout_tokens_expires_at_idx" ON "core"."oidc_logout_tokens"("expires_at");

-- Kinds are checked where they are queued, so that a new one needs no change here.
ALTER TABLE "email"."account_mails" DROP CONSTRAINT "account_mails_kind";
ALTER TABLE "email"."account_mails" ADD CONSTRAINT "account_mails_kind" CHECK ("kind" ~ '^[a-z_]{1,50}$');
