-- Gift cards are codes of pools of the kind `balance`. Rows that exist satisfied the narrower constraint.
ALTER TABLE "coupon"."pools" DROP CONSTRAINT "pools_kind";
ALTER TABLE "coupon"."pools" ADD CONSTRAINT "pools_kind"
    CHECK ("kind" IN ('unique', 'shared', 'automatic', 'balance')) NOT VALID;
-- What each new card of a pool holds, in minor units.
ALTER TABLE "coupon"."pools"
    ADD COLUMN "card_amount" BIGINT,
    ADD COLUMN "card_currency" TEXT;
ALTER TABLE "coupon"."pools" ADD CONSTRAINT "pools_card"
    CHECK (("kind" = 'balance') = ("card_amount" IS NOT NULL AND "card_currency" IS NOT NULL)) NOT VALID;

-- What a gift card pays for the cart of a hold.
ALTER TABLE "coupon"."hold_items" ADD COLUMN "payment_amount" BIGINT;

-- A movement of money. Its entries amount to zero.
CREATE TABLE "coupon"."card_movements" (
    "id" UUID NOT NULL,
    "project_id" UUID NOT NULL,
    "kind" TEXT NOT NULL,
    "key_hash" TEXT,
    "request_hash" TEXT,
    "order_id" TEXT,
    "profile_id" UUID,
    "visitor_id" TEXT,
    "user_id" TEXT,
    "reason" TEXT,
    "created_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "card_movements_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "card_movements_kind"
        CHECK ("kind" IN ('issued', 'topped_up', 'spent', 'refunded', 'transferred', 'expired'))
);
CREATE UNIQUE INDEX "card_movements_project_id_key_hash_key" ON "coupon"."card_movements"("project_id", "key_hash");
CREATE INDEX "card_movements_project_id_id_idx" ON "coupon"."card_movements"("project_id", "id");
CREATE INDEX "card_movements_order" ON "coupon"."card_movements"("project_id", "order_id")
    WHERE "order_id" IS NOT NULL;
CREATE INDEX "card_movements_profile" ON "coupon"."card_movements"("profile_id") WHERE "profile_id" IS NOT NULL;

-- An entry on an account: on that of a card, or on one of those that all cards of a pool share. Positive entries of a card
-- increase its balance.
CREATE TABLE "coupon"."card_entries" (
    "movement_id" UUID NOT NULL,
    "line" INTEGER NOT NULL,
    "project_id" UUID NOT NULL,
    "pool_id" UUID NOT NULL,
    "account" TEXT NOT NULL,
    "coupon_id" UUID,
    "amount" BIGINT NOT NULL,
    "currency" TEXT NOT NULL,

    CONSTRAINT "card_entries_pkey" PRIMARY KEY ("movement_id", "line"),
    CONSTRAINT "card_entries_account" CHECK ("account" IN ('card', 'issued', 'spent', 'breakage')),
    CONSTRAINT "card_entries_card" CHECK (("account" = 'card') = ("coupon_id" IS NOT NULL)),
    CONSTRAINT "card_entries_amount" CHECK ("amount" <> 0),
    CONSTRAINT "card_entries_movement_id_fkey" FOREIGN KEY ("movement_id")
        REFERENCES "coupon"."card_movements"("id") ON DELETE RESTRICT ON UPDATE RESTRICT
);
CREATE INDEX "card_entries_coupon" ON "coupon"."card_entries"("coupon_id", "movement_id") WHERE "coupon_id" IS NOT NULL;
-- The movements of a pool: of each only the first entries, because one may issue thousands of cards.
CREATE INDEX "card_entries_pool_movement" ON "coupon"."card_entries"("pool_id", "movement_id") WHERE "line" <= 2;
-- The sums of the accounts of a pool.
CREATE INDEX "card_entries_pool" ON "coupon"."card_entries"("pool_id", "account") INCLUDE ("amount");

-- The sum of the entries of each card. Only the trigger on the entries writes it.
CREATE TABLE "coupon"."card_balances" (
    "coupon_id" UUID NOT NULL,
    "project_id" UUID NOT NULL,
    "pool_id" UUID NOT NULL,
    "currency" TEXT NOT NULL,
    "balance" BIGINT NOT NULL,

    CONSTRAINT "card_balances_pkey" PRIMARY KEY ("coupon_id"),
    CONSTRAINT "card_balances_balance" CHECK ("balance" BETWEEN 0 AND 100000000000)
);
-- The cards whose balance can expire.
CREATE INDEX "card_balances_left" ON "coupon"."card_balances"("pool_id", "coupon_id") WHERE "balance" > 0;

-- Refuses a movement that does not amount to zero, and keeps the balances. The entries of a movement are one statement. It
-- runs with the rights of its owner, because services must not write balances.
CREATE FUNCTION "coupon"."post_card_entries"() RETURNS TRIGGER
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    unbalanced UUID;
BEGIN
    SELECT movement_id INTO unbalanced FROM posted
    GROUP BY movement_id HAVING sum(amount) <> 0 OR count(DISTINCT currency) > 1 LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'The entries of movement % do not amount to zero in one currency', unbalanced
            USING ERRCODE = 'check_violation', CONSTRAINT = 'card_entries_zero';
    END IF;
    -- A card with another currency is not found here, and then refused by the key of its balance.
    WITH changed AS (
        SELECT coupon_id, currency, sum(amount) AS amount FROM posted
        WHERE account = 'card' GROUP BY coupon_id, currency
    )
    UPDATE coupon.card_balances b SET balance = b.balance + changed.amount FROM changed
    WHERE b.coupon_id = changed.coupon_id AND b.currency = changed.currency;
    INSERT INTO coupon.card_balances (coupon_id, project_id, pool_id, currency, balance)
    SELECT coupon_id, project_id, pool_id, currency, sum(amount) FROM posted e
    WHERE account = 'card' AND NOT EXISTS (
        SELECT FROM coupon.card_balances b WHERE b.coupon_id = e.coupon_id AND b.currency = e.currency)
    GROUP BY coupon_id, project_id, pool_id, currency;
    RETURN NULL;
END
$$;
REVOKE ALL ON FUNCTION "coupon"."post_card_entries"() FROM PUBLIC;
CREATE TRIGGER "card_entries_post" AFTER INSERT ON "coupon"."card_entries"
    REFERENCING NEW TABLE AS posted FOR EACH STATEMENT EXECUTE FUNCTION "coupon"."post_card_entries"();

-- A movement has entries when its transaction commits.
CREATE FUNCTION "coupon"."require_card_entries"() RETURNS TRIGGER
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM coupon.card_entries WHERE movement_id = NEW.id) THEN
        RAISE EXCEPTION 'Movement % has no entries', NEW.id
            USING ERRCODE = 'check_violation', CONSTRAINT = 'card_movements_entries';
    END IF;
    RETURN NULL;
END
$$;
REVOKE ALL ON FUNCTION "coupon"."require_card_entries"() FROM PUBLIC;
CREATE CONSTRAINT TRIGGER "card_movements_entries" AFTER INSERT ON "coupon"."card_movements"
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION "coupon"."require_card_entries"();

-- The ledger is append-only. Only the removal of demo data, which services have no rights for, names the setting.
CREATE FUNCTION "coupon"."refuse_ledger_change"() RETURNS TRIGGER
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF TG_OP = 'DELETE' AND current_setting('waymark.removes_demo_data', true) = 'on' THEN
        RETURN COALESCE(NEW, OLD);
    END IF;
    RAISE EXCEPTION 'The ledger of gift cards is append-only: % of % is refused', TG_OP, TG_TABLE_NAME
        USING ERRCODE = 'restrict_violation';
END
$$;
REVOKE ALL ON FUNCTION "coupon"."refuse_ledger_change"() FROM PUBLIC;
CREATE TRIGGER "card_entries_keep" BEFORE UPDATE OR DELETE OR TRUNCATE ON "coupon"."card_entries"
    FOR EACH STATEMENT EXECUTE FUNCTION "coupon"."refuse_ledger_change"();
CREATE TRIGGER "card_movements_keep" BEFORE DELETE OR TRUNCATE ON "coupon"."card_movements"
    FOR EACH STATEMENT EXECUTE FUNCTION "coupon"."refuse_ledger_change"();
-- An erasure removes who it was.
CREATE TRIGGER "card_movements_keep_columns" BEFORE UPDATE ON "coupon"."card_movements" FOR EACH ROW
    WHEN ((OLD."id", OLD."project_id", OLD."kind", OLD."key_hash", OLD."request_hash", OLD."created_at")
        IS DISTINCT FROM (NEW."id", NEW."project_id", NEW."kind", NEW."key_hash", NEW."request_hash", NEW."created_at"))
    EXECUTE FUNCTION "coupon"."refuse_ledger_change"();
CREATE TRIGGER "card_balances_keep" BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON "coupon"."card_balances"
    FOR EACH STATEMENT WHEN (pg_trigger_depth() = 0) EXECUTE FUNCTION "coupon"."refuse_ledger_change"();
