-- A loyalty programme: which conversions earn points, how long points last, and what they are worth.
CREATE TABLE "coupon"."loyalty_programmes" (
    "id" UUID NOT NULL,
    "project_id" UUID NOT NULL,
    "key" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "status" TEXT NOT NULL DEFAULT 'active',
    "rules" JSONB NOT NULL,
    "expiry_months" INTEGER,
    "spending" JSONB,
    "tiers" JSONB NOT NULL DEFAULT '[]',
    "version" INTEGER NOT NULL DEFAULT 1,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "loyalty_programmes_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "loyalty_programmes_status" CHECK ("status" IN ('active', 'paused', 'archived')),
    CONSTRAINT "loyalty_programmes_project_id_fkey" FOREIGN KEY ("project_id")
        REFERENCES "core"."projects"("id") ON DELETE CASCADE ON UPDATE CASCADE
);
CREATE UNIQUE INDEX "loyalty_programmes_project_id_key_key" ON "coupon"."loyalty_programmes"("project_id", "key");

-- The account of a profile. Profiles that are merged keep their accounts: a person has those of all their profiles. An
-- erasure removes the profile. Only the trigger on the entries writes the sums.
CREATE TABLE "coupon"."point_accounts" (
    "id" UUID NOT NULL,
    "project_id" UUID NOT NULL,
    "programme_id" UUID NOT NULL,
    "profile_id" UUID,
    "balance" BIGINT NOT NULL DEFAULT 0,
    "earned" BIGINT NOT NULL DEFAULT 0,
    "created_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "point_accounts_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "point_accounts_balance" CHECK ("balance" >= 0)
);
CREATE UNIQUE INDEX "point_accounts_programme_id_profile_id_key"
    ON "coupon"."point_accounts"("programme_id", "profile_id");
CREATE INDEX "point_accounts_profile" ON "coupon"."point_accounts"("profile_id") WHERE "profile_id" IS NOT NULL;

-- A movement of points. Its entries amount to zero on each account.
CREATE TABLE "coupon"."point_movements" (
    "id" UUID NOT NULL,
    "project_id" UUID NOT NULL,
    "programme_id" UUID NOT NULL,
    "kind" TEXT NOT NULL,
    "event_key" UUID,
    "order_id" TEXT,
    "amount" BIGINT,
    "currency" TEXT,
    "shortfall" BIGINT,
    "key_hash" TEXT,
    "request_hash" TEXT,
    "reason" TEXT,
    "occurred_at" TIMESTAMPTZ(3) NOT NULL,
    "expires_at" TIMESTAMPTZ(3),
    "created_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "point_movements_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "point_movements_kind" CHECK ("kind" IN ('earned', 'adjusted', 'spent', 'expired', 'reversed'))
);
CREATE UNIQUE INDEX "point_movements_programme_id_event_key_key"
    ON "coupon"."point_movements"("programme_id", "event_key");
CREATE UNIQUE INDEX "point_movements_project_id_key_hash_key"
    ON "coupon"."point_movements"("project_id", "key_hash");
CREATE INDEX "point_movements_programme_id_id_idx" ON "coupon"."point_movements"("programme_id", "id");
-- An order spends points of a programme once.
CREATE UNIQUE INDEX "point_movements_spent_once" ON "coupon"."point_movements"("programme_id", "order_id")
    WHERE "kind" = 'spent';
CREATE INDEX "point_movements_order" ON "coupon"."point_movements"("project_id", "order_id")
    WHERE "order_id" IS NOT NULL;

-- An entry on the account of a person, or on one of the other accounts of the programme, which are kept by person. Entries of a
-- person name the lot: the movement by which its points came.
CREATE TABLE "coupon"."point_entries" (
    "movement_id" UUID NOT NULL,
    "line" INTEGER NOT NULL,
    "programme_id" UUID NOT NULL,
    "account_id" UUID NOT NULL,
    "account" TEXT NOT NULL,
    "lot_id" UUID,
    "points" BIGINT NOT NULL,

    CONSTRAINT "point_entries_pkey" PRIMARY KEY ("movement_id", "line"),
    CONSTRAINT "point_entries_account" CHECK ("account" IN ('person', 'earned', 'adjusted', 'spent', 'expired')),
    CONSTRAINT "point_entries_lot" CHECK (("account" = 'person') = ("lot_id" IS NOT NULL)),
    CONSTRAINT "point_entries_points" CHECK ("points" <> 0),
    CONSTRAINT "point_entries_movement_id_fkey" FOREIGN KEY ("movement_id")
        REFERENCES "coupon"."point_movements"("id") ON DELETE RESTRICT ON UPDATE RESTRICT,
    CONSTRAINT "point_entries_account_id_fkey" FOREIGN KEY ("account_id")
        REFERENCES "coupon"."point_accounts"("id") ON DELETE RESTRICT ON UPDATE RESTRICT
);
CREATE INDEX "point_entries_account_id_movement_id_idx" ON "coupon"."point_entries"("account_id", "movement_id");
-- The sums of the accounts of a programme.
CREATE INDEX "point_entries_programme" ON "coupon"."point_entries"("programme_id", "account") INCLUDE ("points");

-- What is left of the points of a movement: the sum of its entries. Only the trigger on the entries writes it.
CREATE TABLE "coupon"."point_lots" (
    "id" UUID NOT NULL,
    "account_id" UUID NOT NULL,
    "points" BIGINT NOT NULL,
    "occurred_at" TIMESTAMPTZ(3) NOT NULL,
    "expires_at" TIMESTAMPTZ(3),

    CONSTRAINT "point_lots_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "point_lots_points" CHECK ("points" >= 0)
);
CREATE INDEX "point_lots_left" ON "coupon"."point_lots"("account_id", "occurred_at", "id") WHERE "points" > 0;
CREATE INDEX "point_lots_expiry" ON "coupon"."point_lots"("expires_at") WHERE "points" > 0;

-- Orders that were reversed, by a hash: they neither earn nor spend points afterwards.
CREATE TABLE "coupon"."point_reversals" (
    "project_id" UUID NOT NULL,
    "order_hash" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "point_reversals_pkey" PRIMARY KEY ("project_id", "order_hash")
);

-- Refuses a movement that does not amount to zero, and keeps the sums. The entries of a movement are one statement. It runs with
-- the rights of its owner, because services must not write sums.
CREATE FUNCTION "coupon"."post_point_entries"() RETURNS TRIGGER
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    unbalanced UUID;
BEGIN
    SELECT movement_id INTO unbalanced FROM posted
    GROUP BY movement_id, account_id HAVING sum(points) <> 0 LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'The entries of movement % do not amount to zero', unbalanced
            USING ERRCODE = 'check_violation', CONSTRAINT = 'point_entries_zero';
    END IF;
    WITH changed AS (
        SELECT account_id, coalesce(sum(points) FILTER (WHERE account = 'person'), 0) AS balance,
            coalesce(-sum(points) FILTER (WHERE account = 'earned'), 0) AS earned
        FROM posted GROUP BY account_id
    )
    UPDATE coupon.point_accounts a SET balance = a.balance + changed.balance, earned = a.earned + changed.earned
    FROM changed WHERE a.id = changed.account_id;
    WITH changed AS (
        SELECT lot_id, account_id, sum(points) AS points FROM posted WHERE account = 'person' GROUP BY lot_id, account_id
    )
    UPDATE coupon.point_lots l SET points = l.points + changed.points FROM changed
    WHERE l.id = changed.lot_id AND l.account_id = changed.account_id;
    -- A lot of another account is not found here, and then refused by its key.
    INSERT INTO coupon.point_lots (id, account_id, points, occurred_at, expires_at)
    SELECT e.lot_id, e.account_id, sum(e.points), m.occurred_at, m.expires_at
    FROM posted e JOIN coupon.point_movements m ON m.id = e.lot_id
    WHERE e.account = 'person' AND NOT EXISTS (
        SELECT FROM coupon.point_lots l WHERE l.id = e.lot_id AND l.account_id = e.account_id)
    GROUP BY e.lot_id, e.account_id, m.occurred_at, m.expires_at;
    RETURN NULL;
END
$$;
REVOKE ALL ON FUNCTION "coupon"."post_point_entries"() FROM PUBLIC;
CREATE TRIGGER "point_entries_post" AFTER INSERT ON "coupon"."point_entries"
    REFERENCING NEW TABLE AS posted FOR EACH STATEMENT EXECUTE FUNCTION "coupon"."post_point_entries"();

-- A movement has entries when its transaction commits, except a reversal of points that were all spent.
CREATE FUNCTION "coupon"."require_point_entries"() RETURNS TRIGGER
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM coupon.point_entries WHERE movement_id = NEW.id) THEN
        RAISE EXCEPTION 'Movement % has no entries', NEW.id
            USING ERRCODE = 'check_violation', CONSTRAINT = 'point_movements_entries';
    END IF;
    RETURN NULL;
END
$$;
REVOKE ALL ON FUNCTION "coupon"."require_point_entries"() FROM PUBLIC;
CREATE CONSTRAINT TRIGGER "point_movements_entries" AFTER INSERT ON "coupon"."point_movements"
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (NEW."shortfall" IS NULL)
    EXECUTE FUNCTION "coupon"."require_point_entries"();

-- The ledgers are append-only. Only the removal of demo data, which services have no rights for, names the setting.
CREATE OR REPLACE FUNCTION "coupon"."refuse_ledger_change"() RETURNS TRIGGER
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF TG_OP = 'DELETE' AND current_setting('waymark.removes_demo_data', true) = 'on' THEN
        RETURN COALESCE(NEW, OLD);
    END IF;
    RAISE EXCEPTION 'The ledger of gift cards and points is append-only: % of % is refused', TG_OP, TG_TABLE_NAME
        USING ERRCODE = 'restrict_violation';
END
$$;
CREATE TRIGGER "point_entries_keep" BEFORE UPDATE OR DELETE OR TRUNCATE ON "coupon"."point_entries"
    FOR EACH STATEMENT EXECUTE FUNCTION "coupon"."refuse_ledger_change"();
CREATE TRIGGER "point_movements_keep" BEFORE DELETE OR TRUNCATE ON "coupon"."point_movements"
    FOR EACH STATEMENT EXECUTE FUNCTION "coupon"."refuse_ledger_change"();
-- An erasure removes the order and the reason.
CREATE TRIGGER "point_movements_keep_columns" BEFORE UPDATE ON "coupon"."point_movements" FOR EACH ROW
    WHEN ((OLD."id", OLD."project_id", OLD."programme_id", OLD."kind", OLD."event_key", OLD."amount", OLD."currency",
        OLD."shortfall", OLD."key_hash", OLD."request_hash", OLD."occurred_at", OLD."expires_at", OLD."created_at")
        IS DISTINCT FROM (NEW."id", NEW."project_id", NEW."programme_id", NEW."kind", NEW."event_key", NEW."amount",
        NEW."currency", NEW."shortfall", NEW."key_hash", NEW."request_hash", NEW."occurred_at", NEW."expires_at",
        NEW."created_at"))
    EXECUTE FUNCTION "coupon"."refuse_ledger_change"();
CREATE TRIGGER "point_lots_keep" BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON "coupon"."point_lots"
    FOR EACH STATEMENT WHEN (pg_trigger_depth() = 0) EXECUTE FUNCTION "coupon"."refuse_ledger_change"();
-- An erasure removes the profile of an account.
CREATE TRIGGER "point_accounts_keep_columns" BEFORE UPDATE ON "coupon"."point_accounts" FOR EACH ROW
    WHEN (pg_trigger_depth() = 0 AND (OLD."id", OLD."project_id", OLD."programme_id", OLD."balance", OLD."earned")
        IS DISTINCT FROM (NEW."id", NEW."project_id", NEW."programme_id", NEW."balance", NEW."earned"))
    EXECUTE FUNCTION "coupon"."refuse_ledger_change"();
CREATE TRIGGER "point_accounts_keep" BEFORE DELETE OR TRUNCATE ON "coupon"."point_accounts"
    FOR EACH STATEMENT EXECUTE FUNCTION "coupon"."refuse_ledger_change"();
