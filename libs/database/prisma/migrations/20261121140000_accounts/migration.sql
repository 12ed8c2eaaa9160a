-- Who is signed in. The token itself is kept nowhere.
CREATE TABLE "core"."sessions" (
    "id" UUID NOT NULL,
    "user_id" UUID NOT NULL,
    "token_hash" BYTEA NOT NULL,
    "user_agent" TEXT,
    "network" TEXT,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "last_seen_at" TIMESTAMPTZ(3) NOT NULL,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "sessions_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "sessions_token_hash_length" CHECK (octet_length("token_hash") = 32),
    CONSTRAINT "sessions_user_id_fkey" FOREIGN KEY ("user_id")
        REFERENCES "core"."users"("id") ON DELETE CASCADE ON UPDATE CASCADE
);
CREATE UNIQUE INDEX "sessions_token_hash_key" ON "core"."sessions"("token_hash");
CREATE INDEX "sessions_user_id_idx" ON "core"."sessions"("user_id");
CREATE INDEX "sessions_expires_at_idx" ON "core"."sessions"("expires_at");

-- Failed sign-ins of an account from an address, whose SHA-256 is the key.
CREATE TABLE "core"."sign_in_failures" (
    "key" BYTEA NOT NULL,
    "failures" INTEGER NOT NULL,
    "window_ends_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "sign_in_failures_pkey" PRIMARY KEY ("key")
);
CREATE INDEX "sign_in_failures_window_ends_at_idx" ON "core"."sign_in_failures"("window_ends_at");

CREATE TABLE "core"."invitations" (
    "id" UUID NOT NULL,
    "project_id" UUID NOT NULL,
    "email" TEXT NOT NULL,
    "role" TEXT NOT NULL,
    "token_hash" BYTEA NOT NULL,
    "invited_by" UUID,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,
    "accepted_at" TIMESTAMPTZ(3),
    "revoked_at" TIMESTAMPTZ(3),

    CONSTRAINT "invitations_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "invitations_email_lower_case" CHECK ("email" = lower("email")),
    CONSTRAINT "invitations_role" CHECK ("role" IN ('viewer', 'editor', 'admin', 'owner')),
    CONSTRAINT "invitations_token_hash_length" CHECK (octet_length("token_hash") = 32),
    CONSTRAINT "invitations_project_id_fkey" FOREIGN KEY ("project_id")
        REFERENCES "core"."projects"("id") ON DELETE CASCADE ON UPDATE CASCADE
);
CREATE UNIQUE INDEX "invitations_token_hash_key" ON "core"."invitations"("token_hash");
CREATE INDEX "invitations_project_id_id_idx" ON "core"."invitations"("project_id", "id");

-- Who changed what in a project, and when its members signed in.
CREATE TABLE "core"."audit_log" (
    "id" UUID NOT NULL,
    "project_id" UUID NOT NULL,
    "actor_kind" TEXT NOT NULL,
    "actor_id" UUID NOT NULL,
    "operation" TEXT NOT NULL,
    "resource_id" TEXT,
    "fields" TEXT[] NOT NULL DEFAULT ARRAY[]::TEXT[],
    "network" TEXT,
    "request_id" TEXT,
    "at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "audit_log_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "audit_log_actor_kind" CHECK ("actor_kind" IN ('user', 'key')),
    CONSTRAINT "audit_log_project_id_fkey" FOREIGN KEY ("project_id")
        REFERENCES "core"."projects"("id") ON DELETE CASCADE ON UPDATE CASCADE
);
CREATE INDEX "audit_log_project_id_id_idx" ON "core"."audit_log"("project_id", "id");
