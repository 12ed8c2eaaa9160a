CREATE SCHEMA IF NOT EXISTS "coupon";

-- Rewritten once per 10,000 generated codes. What redemptions count is elsewhere, so that they never wait for that.
CREATE TABLE "coupon"."pools" (
    "id" UUID NOT NULL,
    "project_id" UUID NOT NULL,
    "name" TEXT NOT NULL,
    "kind" TEXT NOT NULL,
    "status" TEXT NOT NULL,
    "failure" TEXT,
    "prefix" TEXT NOT NULL,
    "alphabet" TEXT NOT NULL,
    "length" INTEGER NOT NULL,
    "size" INTEGER NOT NULL,
    "generated" INTEGER NOT NULL DEFAULT 0,
    "discount" JSONB NOT NULL,
    "starts_at" TIMESTAMPTZ(3),
    "expires_at" TIMESTAMPTZ(3),
    "per_profile_limit" INTEGER,
    "max_redemptions" INTEGER,
    "archived_at" TIMESTAMPTZ(3),
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "pools_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "pools_kind" CHECK ("kind" IN ('unique', 'shared')),
    CONSTRAINT "pools_status" CHECK ("status" IN ('draft', 'generating', 'ready', 'archived', 'failed')),
    CONSTRAINT "pools_generated" CHECK ("generated" BETWEEN 0 AND "size"),
    CONSTRAINT "pools_project_id_fkey" FOREIGN KEY ("project_id")
        REFERENCES "core"."projects"("id") ON DELETE CASCADE ON UPDATE CASCADE
);
CREATE INDEX "pools_project_id_id_idx" ON "coupon"."pools"("project_id", "id");
-- What is left to generate: a few rows at most.
CREATE INDEX "pools_unfinished" ON "coupon"."pools"("id")
    WHERE "generated" < "size" AND "status" IN ('generating', 'ready');

-- The hottest row of a pool, locked last: room on the page keeps its updates out of the index.
CREATE TABLE "coupon"."pool_counts" (
    "pool_id" UUID NOT NULL,
    "redeemed" INTEGER NOT NULL DEFAULT 0,

    CONSTRAINT "pool_counts_pkey" PRIMARY KEY ("pool_id"),
    CONSTRAINT "pool_counts_redeemed" CHECK ("redeemed" >= 0),
    CONSTRAINT "pool_counts_pool_id_fkey" FOREIGN KEY ("pool_id")
        REFERENCES "coupon"."pools"("id") ON DELETE CASCADE ON UPDATE CASCADE
) WITH (fillfactor = 50);

-- Millions of rows: no foreign key is checked for each of them. A pool is archived and never deleted.
-- The code is kept as it is compared: upper case, no dashes. In the C collation an index finds it by prefix, too.
CREATE TABLE "coupon"."coupons" (
    "id" UUID NOT NULL,
    "project_id" UUID NOT NULL,
    "pool_id" UUID NOT NULL,
    "code" TEXT COLLATE "C" NOT NULL,
    "display" TEXT,
    "status" TEXT NOT NULL DEFAULT 'available',
    "assigned_profile_id" UUID,
    "assigned_at" TIMESTAMPTZ(3),
    "redeemed_at" TIMESTAMPTZ(3),
    "revoked_at" TIMESTAMPTZ(3),
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "coupons_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "coupons_status" CHECK ("status" IN ('available', 'assigned', 'redeemed', 'revoked'))
);
CREATE UNIQUE INDEX "coupons_project_id_code_key" ON "coupon"."coupons"("project_id", "code");
-- Ids are never null. Where nulls would go keeps the planner from reading a pool in order by the primary key instead,
-- which means walking past the millions of other pools.
CREATE INDEX "coupons_pool_id_id_idx" ON "coupon"."coupons"("pool_id", "id" NULLS FIRST);
CREATE INDEX "coupons_pool_id_status_id_idx" ON "coupon"."coupons"("pool_id", "status", "id" NULLS FIRST);

-- One coupon per pool and profile, whoever asks for it at the same time.
CREATE TABLE "coupon"."assignments" (
    "pool_id" UUID NOT NULL,
    "profile_id" UUID NOT NULL,
    "coupon_id" UUID NOT NULL,
    "assigned_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "assignments_pkey" PRIMARY KEY ("pool_id", "profile_id")
);

CREATE TABLE "coupon"."redemptions" (
    "id" UUID NOT NULL,
    "project_id" UUID NOT NULL,
    "pool_id" UUID NOT NULL,
    "coupon_id" UUID NOT NULL,
    "profile_id" UUID,
    "visitor_id" TEXT,
    "user_id" TEXT,
    "order_id" TEXT,
    "amount" BIGINT,
    "currency" TEXT,
    "event_id" TEXT NOT NULL,
    "metadata" JSONB NOT NULL,
    "redeemed_at" TIMESTAMPTZ(3) NOT NULL,
    "rolled_back_at" TIMESTAMPTZ(3),
    "rollback_reason" TEXT,

    CONSTRAINT "redemptions_pkey" PRIMARY KEY ("id")
);
CREATE INDEX "redemptions_project_id_id_idx" ON "coupon"."redemptions"("project_id", "id");
CREATE INDEX "redemptions_pool_id_id_idx" ON "coupon"."redemptions"("pool_id", "id");
CREATE INDEX "redemptions_coupon_id_id_idx" ON "coupon"."redemptions"("coupon_id", "id");
CREATE INDEX "redemptions_project_id_order_id_idx" ON "coupon"."redemptions"("project_id", "order_id")
    WHERE "order_id" IS NOT NULL;

-- Attempts to redeem a coupon that were refused.
CREATE TABLE "coupon"."attempts" (
    "id" UUID NOT NULL,
    "project_id" UUID NOT NULL,
    "coupon_id" UUID NOT NULL,
    "reason" TEXT NOT NULL,
    "profile_id" UUID,
    "visitor_id" TEXT,
    "user_id" TEXT,
    "order_id" TEXT,
    "attempted_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "attempts_pkey" PRIMARY KEY ("id")
);
CREATE INDEX "attempts_coupon_id_id_idx" ON "coupon"."attempts"("coupon_id", "id");

-- How often a profile has redeemed of a pool.
CREATE TABLE "coupon"."profile_counts" (
    "pool_id" UUID NOT NULL,
    "profile_id" UUID NOT NULL,
    "redeemed" INTEGER NOT NULL,

    CONSTRAINT "profile_counts_pkey" PRIMARY KEY ("pool_id", "profile_id"),
    CONSTRAINT "profile_counts_redeemed" CHECK ("redeemed" >= 0)
);

-- Answers to be repeated. The body is text, so that it is repeated to the byte.
CREATE TABLE "coupon"."idempotency_keys" (
    "project_id" UUID NOT NULL,
    "key" TEXT NOT NULL,
    "request_hash" TEXT NOT NULL,
    "status" INTEGER,
    "body" TEXT,
    "created_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "idempotency_keys_pkey" PRIMARY KEY ("project_id", "key")
);
CREATE INDEX "idempotency_keys_created_at_idx" ON "coupon"."idempotency_keys"("created_at");
