-- A unique code in a cart. It returns by time: nobody has to reset these.
ALTER TABLE "coupon"."coupons"
    ADD COLUMN "hold_id" UUID,
    ADD COLUMN "held_until" TIMESTAMPTZ(3);

-- What holds reserve, with those that have ended and were not removed yet.
ALTER TABLE "coupon"."pool_counts"
    ADD COLUMN "held" INTEGER NOT NULL DEFAULT 0,
    ADD COLUMN "held_amount" BIGINT NOT NULL DEFAULT 0;
ALTER TABLE "coupon"."pool_counts"
    ADD CONSTRAINT "pool_counts_held" CHECK ("held" >= 0 AND "held_amount" >= 0) NOT VALID;
ALTER TABLE "coupon"."profile_counts" ADD COLUMN "held" INTEGER NOT NULL DEFAULT 0;
ALTER TABLE "coupon"."profile_counts"
    ADD CONSTRAINT "profile_counts_held" CHECK ("held" >= 0) NOT VALID;

-- A cart whose codes, uses and budget are reserved. Redeeming and releasing deletes it.
CREATE TABLE "coupon"."holds" (
    "id" UUID NOT NULL,
    "project_id" UUID NOT NULL,
    "key" UUID NOT NULL,
    "key_kind" TEXT NOT NULL,
    "profile_id" UUID,
    "visitor_id" TEXT,
    "user_id" TEXT,
    "cart" JSONB NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "holds_pkey" PRIMARY KEY ("id")
);
CREATE UNIQUE INDEX "holds_project_id_key_key" ON "coupon"."holds"("project_id", "key");
CREATE INDEX "holds_expires_at_idx" ON "coupon"."holds"("expires_at");
CREATE INDEX "holds_project_id_expires_at_idx" ON "coupon"."holds"("project_id", "expires_at");
CREATE INDEX "holds_profile_id_expires_at_idx" ON "coupon"."holds"("profile_id", "expires_at");

CREATE TABLE "coupon"."hold_items" (
    "hold_id" UUID NOT NULL,
    "position" INTEGER NOT NULL,
    "pool_id" UUID NOT NULL,
    "coupon_id" UUID NOT NULL,
    "discount_amount" BIGINT NOT NULL,
    "shipping_discount_amount" BIGINT NOT NULL,
    "item_discounts" JSONB NOT NULL,
    "budget_charge" BIGINT,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "hold_items_pkey" PRIMARY KEY ("hold_id", "position"),
    CONSTRAINT "hold_items_hold_id_fkey" FOREIGN KEY ("hold_id")
        REFERENCES "coupon"."holds"("id") ON DELETE CASCADE ON UPDATE CASCADE
);
-- The live holds of a pool.
CREATE INDEX "hold_items_pool_id_expires_at_idx" ON "coupon"."hold_items"("pool_id", "expires_at");

-- The holds of a project, with those that have ended and were not removed yet.
CREATE TABLE "coupon"."hold_counts" (
    "project_id" UUID NOT NULL,
    "holds" INTEGER NOT NULL,

    CONSTRAINT "hold_counts_pkey" PRIMARY KEY ("project_id"),
    CONSTRAINT "hold_counts_holds" CHECK ("holds" >= 0)
);
