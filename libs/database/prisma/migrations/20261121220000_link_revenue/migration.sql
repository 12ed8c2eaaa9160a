-- A sum of amounts, each of which may be as large as a safe integer: a thousand of them are more than BIGINT holds, and
-- what cannot be counted could not be stored.
ALTER TABLE "link"."daily_conversions" ALTER COLUMN "revenue" TYPE NUMERIC(40, 0);
