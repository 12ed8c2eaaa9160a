-- Requests per minute of a server key, in place of the limits per project and client address. Null: those limits.
ALTER TABLE "core"."api_keys"
    ADD COLUMN "requests_per_minute" INTEGER,
    ADD CONSTRAINT "api_keys_requests_per_minute"
        CHECK ("requests_per_minute" IS NULL OR ("requests_per_minute" >= 1 AND "kind" = 'sec'));
