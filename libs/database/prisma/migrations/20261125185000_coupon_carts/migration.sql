ALTER TABLE "coupon"."pools"
    ADD COLUMN "rules" JSONB,
    ADD COLUMN "stackable" BOOLEAN NOT NULL DEFAULT false,
    ADD COLUMN "budget_amount" BIGINT,
    ADD COLUMN "budget_currency" TEXT,
    ADD CONSTRAINT "pools_budget" CHECK ("budget_amount" IS NULL OR "budget_currency" IS NOT NULL);

-- What was granted since the pool has a budget, without what was rolled back.
ALTER TABLE "coupon"."pool_counts"
    ADD COLUMN "granted" BIGINT NOT NULL DEFAULT 0,
    ADD CONSTRAINT "pool_counts_granted" CHECK ("granted" >= 0);

ALTER TABLE "coupon"."redemptions"
    ADD COLUMN "discount_amount" BIGINT,
    ADD COLUMN "shipping_discount_amount" BIGINT,
    ADD COLUMN "items" JSONB,
    ADD COLUMN "budget_charge" BIGINT,
    ADD COLUMN "rolled_back_amount" BIGINT NOT NULL DEFAULT 0;
