-- The pools of gift cards whose time is over.
CREATE INDEX CONCURRENTLY IF NOT EXISTS "pools_balance_idx" ON "coupon"."pools"("expires_at")
    WHERE "kind" = 'balance' AND "expires_at" IS NOT NULL;
