-- How many warnings an event was accepted with. A constant default rewrites no row; events from before count none.
ALTER TABLE "analytics"."events" ADD COLUMN "warnings" INTEGER NOT NULL DEFAULT 0;
