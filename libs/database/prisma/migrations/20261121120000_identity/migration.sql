-- Which profile a visitor or user belongs to. Always the living one: a merge points the visitor elsewhere.
CREATE TABLE "ingest"."identities" (
    "project_id" UUID NOT NULL,
    "kind" TEXT NOT NULL,
    "value" TEXT NOT NULL,
    "profile_id" UUID NOT NULL,
    "linked_at" TIMESTAMPTZ(3),
    "linked_by" UUID,

    CONSTRAINT "identities_pkey" PRIMARY KEY ("project_id", "kind", "value"),
    CONSTRAINT "identities_kind" CHECK ("kind" IN ('visitor', 'user')),
    CONSTRAINT "identities_link" CHECK (("linked_at" IS NULL) = ("linked_by" IS NULL))
);
CREATE INDEX "identities_profile_id_idx" ON "ingest"."identities"("profile_id");

-- Rewritten by traits and touches, never in an indexed column: room on the page keeps that out of the indexes.
CREATE TABLE "ingest"."profiles" (
    "id" UUID NOT NULL,
    "project_id" UUID NOT NULL,
    "bucketing_id" TEXT NOT NULL,
    "user_id" TEXT,
    "traits" JSONB NOT NULL DEFAULT '{}',
    "trait_times" JSONB NOT NULL DEFAULT '{}',
    "first_touch" JSONB,
    "last_touch" JSONB,
    "merged_into" UUID,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "profiles_pkey" PRIMARY KEY ("id"),
    -- Only anonymous profiles are merged, and only into a user's: no chain is longer than one step.
    CONSTRAINT "profiles_merged_are_anonymous" CHECK ("merged_into" IS NULL OR "user_id" IS NULL)
) WITH (fillfactor = 80);
-- A user has one profile.
CREATE UNIQUE INDEX "profiles_project_id_user_id_key"
    ON "ingest"."profiles"("project_id", "user_id") WHERE "user_id" IS NOT NULL;
