CREATE SCHEMA IF NOT EXISTS "link";

CREATE TABLE "link"."links" (
    "id" UUID NOT NULL,
    "project_id" UUID NOT NULL,
    "code" TEXT NOT NULL,
    "destination" TEXT NOT NULL,
    "status" TEXT NOT NULL DEFAULT 'active',
    "starts_at" TIMESTAMPTZ(3),
    "expires_at" TIMESTAMPTZ(3),
    "click_limit" INTEGER,
    "campaign" TEXT,
    "tags" TEXT[] NOT NULL,
    "utm" JSONB NOT NULL DEFAULT '{}',
    "forward_query" BOOLEAN NOT NULL DEFAULT false,
    "external_id" TEXT,
    "targets" JSONB NOT NULL DEFAULT '[]',
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "links_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "links_status" CHECK ("status" IN ('active', 'paused', 'archived')),
    CONSTRAINT "links_click_limit" CHECK ("click_limit" > 0),
    CONSTRAINT "links_project_id_fkey" FOREIGN KEY ("project_id")
        REFERENCES "core"."projects"("id") ON DELETE CASCADE ON UPDATE CASCADE
);
CREATE UNIQUE INDEX "links_code_key" ON "link"."links"("code");
CREATE UNIQUE INDEX "links_project_id_external_id_key" ON "link"."links"("project_id", "external_id");
CREATE INDEX "links_project_id_id_idx" ON "link"."links"("project_id", "id");
CREATE INDEX "links_project_id_status_id_idx" ON "link"."links"("project_id", "status", "id");
CREATE INDEX "links_project_id_campaign_id_idx" ON "link"."links"("project_id", "campaign", "id");
CREATE INDEX "links_tags_idx" ON "link"."links" USING GIN ("tags");
-- The last 12 digits of a link's id stand in the ids of its clicks, and tell them apart from those of other links.
CREATE UNIQUE INDEX "links_project_id_click_tag_key" ON "link"."links"("project_id", right("id"::text, 12));
-- What redirectors poll: only links that were changed, so that an import of a million does not reach them.
CREATE INDEX "links_changed_idx" ON "link"."links"("updated_at") WHERE "updated_at" > "created_at";

-- The words that a search looks for by their beginnings. Split at ASCII punctuation, whatever the locale.
CREATE FUNCTION "link"."search_words"(VARIADIC texts TEXT[]) RETURNS TEXT[]
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN array_remove(regexp_split_to_array(lower(array_to_string(texts, ' ')), '[\x01-\x2f:-@[-`{-\x7f]+'), '');
CREATE INDEX "links_search_idx" ON "link"."links" USING GIN (
    array_to_tsvector("link"."search_words"("code", "destination", "campaign", "external_id"))
);

-- Counts are rewritten with every batch of clicks, never in an indexed column: room on the page keeps that cheap.
CREATE TABLE "link"."counts" (
    "link_id" UUID NOT NULL,
    "clicks" BIGINT NOT NULL DEFAULT 0,
    "bot_clicks" BIGINT NOT NULL DEFAULT 0,
    "unique_visitors" BIGINT NOT NULL DEFAULT 0,
    "last_clicked_at" TIMESTAMPTZ(3),

    CONSTRAINT "counts_pkey" PRIMARY KEY ("link_id")
) WITH (fillfactor = 80);

CREATE TABLE "link"."clicks" (
    "id" UUID NOT NULL,
    "project_id" UUID NOT NULL,
    "link_id" UUID NOT NULL,
    "clicked_at" TIMESTAMPTZ(3) NOT NULL,
    "ip" TEXT,
    "user_agent" TEXT,
    "browser" TEXT,
    "os" TEXT,
    "device" TEXT,
    "country" TEXT,
    "referrer" TEXT,
    "referrer_host" TEXT,
    "bot" BOOLEAN NOT NULL,
    "prefetch" BOOLEAN NOT NULL,

    CONSTRAINT "clicks_pkey" PRIMARY KEY ("id")
);
CREATE INDEX "clicks_link_id_id_idx" ON "link"."clicks"("link_id", "id");

-- Who clicked on a day: a hash with that day's salt, which is thrown away with it.
CREATE TABLE "link"."daily_visitors" (
    "link_id" UUID NOT NULL,
    "day" DATE NOT NULL,
    "visitor" TEXT NOT NULL,

    CONSTRAINT "daily_visitors_pkey" PRIMARY KEY ("link_id", "day", "visitor")
);
CREATE INDEX "daily_visitors_day_idx" ON "link"."daily_visitors"("day");
CREATE TABLE "link"."visitor_salts" (
    "day" DATE NOT NULL,
    "salt" TEXT NOT NULL,

    CONSTRAINT "visitor_salts_pkey" PRIMARY KEY ("day")
);

CREATE TABLE "link"."daily_counts" (
    "link_id" UUID NOT NULL,
    "day" DATE NOT NULL,
    "clicks" BIGINT NOT NULL DEFAULT 0,
    "bot_clicks" BIGINT NOT NULL DEFAULT 0,
    "unique_visitors" BIGINT NOT NULL DEFAULT 0,

    CONSTRAINT "daily_counts_pkey" PRIMARY KEY ("link_id", "day")
) WITH (fillfactor = 80);

-- Clicks by country, device and referrer.
CREATE TABLE "link"."daily_breakdowns" (
    "link_id" UUID NOT NULL,
    "day" DATE NOT NULL,
    "dimension" TEXT NOT NULL,
    "value" TEXT NOT NULL,
    "clicks" BIGINT NOT NULL DEFAULT 0,

    CONSTRAINT "daily_breakdowns_pkey" PRIMARY KEY ("link_id", "day", "dimension", "value")
) WITH (fillfactor = 80);

-- Conversions that a link was the first or the last touch of. Revenue is in minor units.
CREATE TABLE "link"."daily_conversions" (
    "link_id" UUID NOT NULL,
    "day" DATE NOT NULL,
    "touch" TEXT NOT NULL,
    "currency" TEXT NOT NULL,
    "conversions" BIGINT NOT NULL DEFAULT 0,
    "revenue" BIGINT NOT NULL DEFAULT 0,

    CONSTRAINT "daily_conversions_pkey" PRIMARY KEY ("link_id", "day", "touch", "currency"),
    CONSTRAINT "daily_conversions_touch" CHECK ("touch" IN ('first', 'last'))
) WITH (fillfactor = 80);

-- The latest clicks of a person on short links, from which conversions are attributed.
ALTER TABLE "ingest"."profiles" ADD COLUMN "link_touches" JSONB NOT NULL DEFAULT '[]';
