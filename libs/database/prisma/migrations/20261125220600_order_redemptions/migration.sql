-- What the discount of a further coupon of an order is computed from.
CREATE INDEX CONCURRENTLY IF NOT EXISTS "redemptions_of_orders_with_items_idx"
    ON "coupon"."redemptions"("project_id", "order_id")
    WHERE "order_id" IS NOT NULL AND "items" IS NOT NULL AND "rolled_back_at" IS NULL;
