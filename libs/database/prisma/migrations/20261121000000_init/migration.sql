CREATE SCHEMA IF NOT EXISTS "analytics";
CREATE SCHEMA IF NOT EXISTS "bus";
CREATE SCHEMA IF NOT EXISTS "core";
CREATE SCHEMA IF NOT EXISTS "ingest";
-- Holds every partition. Prisma does not look into it.
CREATE SCHEMA IF NOT EXISTS "partitions";

CREATE TABLE "core"."tenants" (
    "id" UUID NOT NULL,
    "name" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "tenants_pkey" PRIMARY KEY ("id")
);

CREATE TABLE "core"."users" (
    "id" UUID NOT NULL,
    "email" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "password_hash" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "users_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "users_email_lower_case" CHECK ("email" = lower("email"))
);
CREATE UNIQUE INDEX "users_email_key" ON "core"."users"("email");

CREATE TABLE "core"."projects" (
    "id" UUID NOT NULL,
    "tenant_id" UUID NOT NULL,
    "name" TEXT NOT NULL,
    "settings" JSONB NOT NULL DEFAULT '{}',
    "version" INTEGER NOT NULL DEFAULT 1,
    "archived_at" TIMESTAMPTZ(3),
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "projects_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "projects_tenant_id_fkey" FOREIGN KEY ("tenant_id")
        REFERENCES "core"."tenants"("id") ON DELETE RESTRICT ON UPDATE CASCADE
);
CREATE INDEX "projects_tenant_id_idx" ON "core"."projects"("tenant_id");

CREATE TABLE "core"."project_members" (
    "project_id" UUID NOT NULL,
    "user_id" UUID NOT NULL,
    "role" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "project_members_pkey" PRIMARY KEY ("project_id", "user_id"),
    CONSTRAINT "project_members_role" CHECK ("role" IN ('viewer', 'editor', 'admin', 'owner')),
    CONSTRAINT "project_members_project_id_fkey" FOREIGN KEY ("project_id")
        REFERENCES "core"."projects"("id") ON DELETE CASCADE ON UPDATE CASCADE,
    CONSTRAINT "project_members_user_id_fkey" FOREIGN KEY ("user_id")
        REFERENCES "core"."users"("id") ON DELETE CASCADE ON UPDATE CASCADE
);
CREATE INDEX "project_members_user_id_idx" ON "core"."project_members"("user_id");

CREATE TABLE "core"."api_keys" (
    "id" UUID NOT NULL,
    "key_id" TEXT NOT NULL,
    "project_id" UUID NOT NULL,
    "name" TEXT NOT NULL,
    "kind" TEXT NOT NULL,
    "scopes" TEXT[] NOT NULL,
    "secret_hash" BYTEA NOT NULL,
    "validation_mode" TEXT,
    "allowed_origins" TEXT[] NOT NULL DEFAULT ARRAY[]::TEXT[],
    "expires_at" TIMESTAMPTZ(3),
    "revoked_at" TIMESTAMPTZ(3),
    "last_used_at" TIMESTAMPTZ(3),
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "api_keys_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "api_keys_key_id_length" CHECK (length("key_id") = 10),
    CONSTRAINT "api_keys_kind" CHECK ("kind" IN ('pub', 'sec')),
    CONSTRAINT "api_keys_secret_hash_length" CHECK (octet_length("secret_hash") = 32),
    CONSTRAINT "api_keys_validation_mode" CHECK ("validation_mode" IN ('off', 'warn', 'enforce')),
    CONSTRAINT "api_keys_project_id_fkey" FOREIGN KEY ("project_id")
        REFERENCES "core"."projects"("id") ON DELETE CASCADE ON UPDATE CASCADE
);
CREATE UNIQUE INDEX "api_keys_key_id_key" ON "core"."api_keys"("key_id");
CREATE INDEX "api_keys_project_id_idx" ON "core"."api_keys"("project_id");

CREATE TABLE "ingest"."event_ids" (
    "project_id" UUID NOT NULL,
    "event_key" UUID NOT NULL,
    "received_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "event_ids_pkey" PRIMARY KEY ("project_id", "event_key")
) PARTITION BY HASH ("event_key");

-- Its monthly partitions, "partitions"."events_YYYY_MM", are made at run time. There is no default partition.
CREATE TABLE "ingest"."events" (
    "project_id" UUID NOT NULL,
    "event_key" UUID NOT NULL,
    "event_id" TEXT NOT NULL,
    "event_name" TEXT NOT NULL,
    "visitor_id" TEXT,
    "user_id" TEXT,
    "session_id" TEXT,
    "properties" JSONB NOT NULL DEFAULT '{}',
    "client_timestamp" TEXT,
    "received_at" TIMESTAMPTZ(3) NOT NULL,
    "timestamp" TIMESTAMPTZ(3) NOT NULL,
    "profile_id" UUID,
    "short_link_id" TEXT,
    "short_link_code" TEXT,
    "click_ids" JSONB,
    "warnings" JSONB NOT NULL DEFAULT '[]',
    "context" JSONB NOT NULL DEFAULT '{}',

    CONSTRAINT "events_pkey" PRIMARY KEY ("project_id", "received_at", "event_key")
) PARTITION BY RANGE ("received_at");
-- Read backwards, each serves pages ordered by (received_at DESC, event_key DESC). Ascending ones fill better.
CREATE INDEX "events_project_id_event_name_received_at_event_key_idx"
    ON "ingest"."events"("project_id", "event_name", "received_at", "event_key");
CREATE INDEX "events_project_id_visitor_id_received_at_event_key_idx"
    ON "ingest"."events"("project_id", "visitor_id", "received_at", "event_key") WHERE "visitor_id" IS NOT NULL;
CREATE INDEX "events_project_id_user_id_received_at_event_key_idx"
    ON "ingest"."events"("project_id", "user_id", "received_at", "event_key") WHERE "user_id" IS NOT NULL;

-- Rows come and go: vacuum by their number, not by the table's share.
CREATE TABLE "ingest"."outbox" (
    "id" BIGINT GENERATED BY DEFAULT AS IDENTITY,
    "lane" TEXT NOT NULL,
    "topic" TEXT NOT NULL,
    "key" TEXT NOT NULL,
    "value" TEXT NOT NULL,
    "headers" JSONB,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "outbox_pkey" PRIMARY KEY ("id")
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);
CREATE INDEX "outbox_lane_id_idx" ON "ingest"."outbox"("lane", "id");

CREATE TABLE "ingest"."dead_letters" (
    "topic" TEXT NOT NULL,
    "partition" INTEGER NOT NULL,
    "offset" BIGINT NOT NULL,
    "consumer_group" TEXT NOT NULL,
    "project_id" UUID,
    "key" TEXT,
    "value" BYTEA NOT NULL,
    "headers" JSONB NOT NULL DEFAULT '{}',
    "reason" TEXT NOT NULL,
    "failed_at" TIMESTAMPTZ(3) NOT NULL,
    "replayed_at" TIMESTAMPTZ(3),

    CONSTRAINT "dead_letters_pkey" PRIMARY KEY ("consumer_group", "topic", "partition", "offset")
);
CREATE INDEX "dead_letters_project_id_failed_at_idx" ON "ingest"."dead_letters"("project_id", "failed_at" DESC);

CREATE TABLE "bus"."log" (
    "topic" TEXT NOT NULL,
    "partition" INTEGER NOT NULL,
    "offset" BIGINT NOT NULL,
    "key" TEXT NOT NULL,
    "value" TEXT NOT NULL,
    "headers" JSONB,
    "at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "log_pkey" PRIMARY KEY ("topic", "partition", "offset")
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 50000);

-- One small row per partition, rewritten at every commit: room on the page keeps those updates out of the index.
CREATE TABLE "bus"."log_offsets" (
    "consumer_group" TEXT NOT NULL,
    "topic" TEXT NOT NULL,
    "partition" INTEGER NOT NULL,
    "next" BIGINT NOT NULL,

    CONSTRAINT "log_offsets_pkey" PRIMARY KEY ("consumer_group", "topic", "partition")
) WITH (fillfactor = 50);

CREATE TABLE "analytics"."events" (
    "project_id" UUID NOT NULL,
    "event_key" UUID NOT NULL,
    "event_name" TEXT NOT NULL,
    "visitor_id" TEXT,
    "user_id" TEXT,
    "profile_id" UUID,
    "session_id" TEXT,
    "timestamp" TIMESTAMPTZ(3) NOT NULL,
    "received_at" TIMESTAMPTZ(3) NOT NULL,
    "bot" BOOLEAN NOT NULL DEFAULT false,
    "browser" TEXT,
    "os" TEXT,
    "device" TEXT,
    "country" TEXT,
    "city" TEXT,
    "path" TEXT,
    "referrer_host" TEXT,
    "utm_source" TEXT,
    "utm_medium" TEXT,
    "utm_campaign" TEXT,
    "short_link_id" TEXT,
    "short_link_code" TEXT,

    CONSTRAINT "events_pkey" PRIMARY KEY ("project_id", "event_key")
) PARTITION BY HASH ("event_key");
CREATE INDEX "events_project_id_timestamp_idx" ON "analytics"."events"("project_id", "timestamp");
CREATE INDEX "events_project_id_event_name_timestamp_idx"
    ON "analytics"."events"("project_id", "event_name", "timestamp");

CREATE TABLE "partitions"."event_ids_00" PARTITION OF "ingest"."event_ids" FOR VALUES WITH (MODULUS 16, REMAINDER 0);
CREATE TABLE "partitions"."event_ids_01" PARTITION OF "ingest"."event_ids" FOR VALUES WITH (MODULUS 16, REMAINDER 1);
CREATE TABLE "partitions"."event_ids_02" PARTITION OF "ingest"."event_ids" FOR VALUES WITH (MODULUS 16, REMAINDER 2);
CREATE TABLE "partitions"."event_ids_03" PARTITION OF "ingest"."event_ids" FOR VALUES WITH (MODULUS 16, REMAINDER 3);
CREATE TABLE "partitions"."event_ids_04" PARTITION OF "ingest"."event_ids" FOR VALUES WITH (MODULUS 16, REMAINDER 4);
CREATE TABLE "partitions"."event_ids_05" PARTITION OF "ingest"."event_ids" FOR VALUES WITH (MODULUS 16, REMAINDER 5);
CREATE TABLE "partitions"."event_ids_06" PARTITION OF "ingest"."event_ids" FOR VALUES WITH (MODULUS 16, REMAINDER 6);
CREATE TABLE "partitions"."event_ids_07" PARTITION OF "ingest"."event_ids" FOR VALUES WITH (MODULUS 16, REMAINDER 7);
CREATE TABLE "partitions"."event_ids_08" PARTITION OF "ingest"."event_ids" FOR VALUES WITH (MODULUS 16, REMAINDER 8);
CREATE TABLE "partitions"."event_ids_09" PARTITION OF "ingest"."event_ids" FOR VALUES WITH (MODULUS 16, REMAINDER 9);
CREATE TABLE "partitions"."event_ids_10" PARTITION OF "ingest"."event_ids" FOR VALUES WITH (MODULUS 16, REMAINDER 10);
CREATE TABLE "partitions"."event_ids_11" PARTITION OF "ingest"."event_ids" FOR VALUES WITH (MODULUS 16, REMAINDER 11);
CREATE TABLE "partitions"."event_ids_12" PARTITION OF "ingest"."event_ids" FOR VALUES WITH (MODULUS 16, REMAINDER 12);
CREATE TABLE "partitions"."event_ids_13" PARTITION OF "ingest"."event_ids" FOR VALUES WITH (MODULUS 16, REMAINDER 13);
CREATE TABLE "partitions"."event_ids_14" PARTITION OF "ingest"."event_ids" FOR VALUES WITH (MODULUS 16, REMAINDER 14);
CREATE TABLE "partitions"."event_ids_15" PARTITION OF "ingest"."event_ids" FOR VALUES WITH (MODULUS 16, REMAINDER 15);

CREATE TABLE "partitions"."analytics_events_00" PARTITION OF "analytics"."events" FOR VALUES WITH (MODULUS 16, REMAINDER 0);
CREATE TABLE "partitions"."analytics_events_01" PARTITION OF "analytics"."events" FOR VALUES WITH (MODULUS 16, REMAINDER 1);
CREATE TABLE "partitions"."analytics_events_02" PARTITION OF "analytics"."events" FOR VALUES WITH (MODULUS 16, REMAINDER 2);
CREATE TABLE "partitions"."analytics_events_03" PARTITION OF "analytics"."events" FOR VALUES WITH (MODULUS 16, REMAINDER 3);
CREATE TABLE "partitions"."analytics_events_04" PARTITION OF "analytics"."events" FOR VALUES WITH (MODULUS 16, REMAINDER 4);
CREATE TABLE "partitions"."analytics_events_05" PARTITION OF "analytics"."events" FOR VALUES WITH (MODULUS 16, REMAINDER 5);
CREATE TABLE "partitions"."analytics_events_06" PARTITION OF "analytics"."events" FOR VALUES WITH (MODULUS 16, REMAINDER 6);
CREATE TABLE "partitions"."analytics_events_07" PARTITION OF "analytics"."events" FOR VALUES WITH (MODULUS 16, REMAINDER 7);
CREATE TABLE "partitions"."analytics_events_08" PARTITION OF "analytics"."events" FOR VALUES WITH (MODULUS 16, REMAINDER 8);
CREATE TABLE "partitions"."analytics_events_09" PARTITION OF "analytics"."events" FOR VALUES WITH (MODULUS 16, REMAINDER 9);
CREATE TABLE "partitions"."analytics_events_10" PARTITION OF "analytics"."events" FOR VALUES WITH (MODULUS 16, REMAINDER 10);
CREATE TABLE "partitions"."analytics_events_11" PARTITION OF "analytics"."events" FOR VALUES WITH (MODULUS 16, REMAINDER 11);
CREATE TABLE "partitions"."analytics_events_12" PARTITION OF "analytics"."events" FOR VALUES WITH (MODULUS 16, REMAINDER 12);
CREATE TABLE "partitions"."analytics_events_13" PARTITION OF "analytics"."events" FOR VALUES WITH (MODULUS 16, REMAINDER 13);
CREATE TABLE "partitions"."analytics_events_14" PARTITION OF "analytics"."events" FOR VALUES WITH (MODULUS 16, REMAINDER 14);
CREATE TABLE "partitions"."analytics_events_15" PARTITION OF "analytics"."events" FOR VALUES WITH (MODULUS 16, REMAINDER 15);
