-- The card that link-preview bots get: title, description and image.
ALTER TABLE "link"."links" ADD COLUMN "og" JSONB;
