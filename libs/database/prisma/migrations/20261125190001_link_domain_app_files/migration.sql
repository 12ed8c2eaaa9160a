-- What a link domain answers apps of iOS and Android that open its links.
ALTER TABLE "link"."domains"
    ADD COLUMN "apple_app_site_association" JSONB,
    ADD COLUMN "asset_links" JSONB;
