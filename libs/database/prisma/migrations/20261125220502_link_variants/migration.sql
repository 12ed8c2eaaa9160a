-- Weighted destinations. The number of a variant in click ids is the place of its key among all keys that the link has had.
ALTER TABLE "link"."links"
    ADD COLUMN "variants" JSONB NOT NULL DEFAULT '[]',
    ADD COLUMN "variant_keys" JSONB NOT NULL DEFAULT '[]',
    -- When an existing link got its first variant: ids of earlier clicks name none.
    ADD COLUMN "variants_since" TIMESTAMPTZ(3);
ALTER TABLE "link"."clicks" ADD COLUMN "variant" TEXT;

-- The part of link.daily_conversions whose click had a variant. Revenue is in minor units.
CREATE TABLE "link"."daily_variant_conversions" (
    "link_id" UUID NOT NULL,
    "day" DATE NOT NULL,
    "touch" TEXT NOT NULL,
    "currency" TEXT NOT NULL,
    "variant" TEXT NOT NULL,
    "conversions" BIGINT NOT NULL DEFAULT 0,
    "revenue" DECIMAL(40,0) NOT NULL DEFAULT 0,

    CONSTRAINT "daily_variant_conversions_pkey" PRIMARY KEY ("link_id", "day", "touch", "currency", "variant"),
    CONSTRAINT "daily_variant_conversions_touch" CHECK ("touch" IN ('first', 'last'))
) WITH (fillfactor = 80);
