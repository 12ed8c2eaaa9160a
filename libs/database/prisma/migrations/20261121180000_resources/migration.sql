-- The key that a rotated one was replaced by.
ALTER TABLE "core"."api_keys" ADD COLUMN "replaced_by" UUID;

-- Every schema that a definition has had.
CREATE TABLE "core"."event_definition_versions" (
    "id" UUID NOT NULL,
    "definition_id" UUID NOT NULL,
    "version" INTEGER NOT NULL,
    "schema" JSONB NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "event_definition_versions_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "event_definition_versions_definition_id_fkey" FOREIGN KEY ("definition_id")
        REFERENCES "core"."event_definitions"("id") ON DELETE CASCADE ON UPDATE CASCADE
);
CREATE UNIQUE INDEX "event_definition_versions_definition_id_version_key"
    ON "core"."event_definition_versions"("definition_id", "version");
-- Of what was before, only the present version is known. Its definition's id serves as its own.
INSERT INTO "core"."event_definition_versions" ("id", "definition_id", "version", "schema", "created_at")
SELECT "id", "id", "version", "schema", "updated_at" FROM "core"."event_definitions";

-- That a person was erased: what was received of them until then must not be stored any more.
CREATE TABLE "ingest"."erasures" (
    "project_id" UUID NOT NULL,
    "kind" TEXT NOT NULL,
    "hash" BYTEA NOT NULL,
    "erased_at" TIMESTAMPTZ(3) NOT NULL,
    "successor" UUID NOT NULL,

    CONSTRAINT "erasures_pkey" PRIMARY KEY ("project_id", "kind", "hash"),
    CONSTRAINT "erasures_kind" CHECK ("kind" IN ('visitor', 'user')),
    CONSTRAINT "erasures_hash_length" CHECK (octet_length("hash") = 32)
);
CREATE INDEX "erasures_erased_at_idx" ON "ingest"."erasures"("erased_at");

-- Erasures that have yet to go through all stores. A row goes when nothing is left, and the ids in it as well.
CREATE TABLE "ingest"."erasure_jobs" (
    "id" UUID NOT NULL,
    "project_id" UUID NOT NULL,
    "profile_ids" UUID[] NOT NULL,
    "visitor_ids" TEXT[] NOT NULL,
    "user_ids" TEXT[] NOT NULL,
    "erased_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "erasure_jobs_pkey" PRIMARY KEY ("id")
);

CREATE INDEX "profiles_merged_into_idx" ON "ingest"."profiles"("merged_into") WHERE "merged_into" IS NOT NULL;
CREATE INDEX "events_project_id_profile_id_received_at_event_key_idx"
    ON "ingest"."events"("project_id", "profile_id", "received_at", "event_key") WHERE "profile_id" IS NOT NULL;
CREATE INDEX "conversions_profile_id_received_at_idx"
    ON "ingest"."conversions"("project_id", "profile_id", "received_at", "event_key", "selector_id")
    WHERE "profile_id" IS NOT NULL;
CREATE INDEX "rejected_events_project_id_id_idx" ON "ingest"."rejected_events"("project_id", "id");

CREATE TABLE "analytics"."conversions" (
    "project_id" UUID NOT NULL,
    "event_key" UUID NOT NULL,
    "selector_id" UUID NOT NULL,
    "event_name" TEXT NOT NULL,
    "visitor_id" TEXT,
    "user_id" TEXT,
    "profile_id" UUID,
    "timestamp" TIMESTAMPTZ(3) NOT NULL,
    "bot" BOOLEAN NOT NULL DEFAULT false,
    "device" TEXT,
    "country" TEXT,
    "utm_campaign" TEXT,
    "short_link_id" TEXT,
    "amount" BIGINT,
    "currency" TEXT,
    "quantity" DOUBLE PRECISION,

    CONSTRAINT "conversions_pkey" PRIMARY KEY ("project_id", "event_key", "selector_id")
);
CREATE INDEX "conversions_project_id_timestamp_idx" ON "analytics"."conversions"("project_id", "timestamp");
INSERT INTO "analytics"."conversions"
SELECT c."project_id", c."event_key", c."selector_id", c."event_name", c."visitor_id", c."user_id", c."profile_id",
    c."occurred_at", e."bot", e."device", e."country", e."utm_campaign", e."short_link_id", c."amount", c."currency",
    c."quantity"
FROM "ingest"."conversions" c JOIN "analytics"."events" e USING ("project_id", "event_key");
