-- What each cart is qualified for, in projects with thousands of pools.
CREATE INDEX CONCURRENTLY IF NOT EXISTS "pools_automatic_idx" ON "coupon"."pools"("project_id")
    WHERE "kind" = 'automatic' AND "status" = 'ready';
