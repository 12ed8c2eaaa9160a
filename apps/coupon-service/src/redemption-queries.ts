import type { CartRefusal, CouponRefusal } from '@waymark/contracts/coupon'
import type { GrantedItem } from '@waymark/contracts/http/coupon-views'
import type { Cart, OrderRedemption } from '@waymark/domain/coupon'
import { lockOrderId } from '@waymark/pipeline'
import type { ClientBase, QueryConfig } from 'pg'
import { v7 as uuidv7 } from 'uuid'
import type { WantedPoints } from './planned-points.ts'
import type { Coupon } from './redeemable-coupon-queries.ts'

/** A request to redeem; absent fields are null. */
export type Redeem = {
  /** The hold to redeem, which says the codes, promotions, person and cart. */
  holdId: string | null
  /** Normalized, each once; undefined where no coupon can have it. */
  codes: readonly (string | undefined)[]
  /** The ids of automatic promotions, each once. */
  promotions: readonly string[]
  /** Whether the request has `codes` or `promotions` instead of `code`. */
  isList: boolean
  visitorId: string | null
  userId: string | null
  orderId: string | null
  /** Minor units of the currency. */
  amount: number | null
  currency: string | null
  /** The client's own event of the redemption. */
  eventId: string | null
  metadata: Record<string, unknown>
  cart: Cart | null
  /** The points that the order spends. */
  points: WantedPoints | null
}

/** What a redemption for a cart grants, in minor units. */
export type Granted = { discountAmount: number; shippingDiscountAmount: number; items: GrantedItem[] }

/** A redemption. */
export type Redemption = Omit<
  Redeem,
  'holdId' | 'codes' | 'promotions' | 'isList' | 'eventId' | 'cart' | 'points'
> & {
  id: string
  couponId: string
  poolId: string
  profileId: string | null
  /** Of the `coupon_redeemed` event. */
  eventId: string
  /** The client's own event of the redemption. */
  relatedEventId: string | null
  redeemedAt: Date
}

const LOCK_PROFILE = 'SELECT FROM ingest.profiles WHERE id = $1 FOR KEY SHARE'

/** Prevents the erasure of a profile until the transaction ends. Resolves to false if it was erased. */
export const lockProfile = async (client: ClientBase, profileId: string): Promise<boolean> => {
  const { rowCount } = await client.query({ name: 'lock-profile', text: LOCK_PROFILE, values: [profileId] })
  return rowCount !== 0
}

const REDEMPTIONS_OF_ORDER = `
  SELECT r.items, r.shipping_discount_amount::float8 AS "shippingAmount", r.currency,
    json_build_object('id', p.id, 'stackable', p.stackable) AS pool
  FROM coupon.redemptions r JOIN coupon.pools p ON p.id = r.pool_id
  WHERE r.project_id = $1 AND r.order_id = $2 AND r.items IS NOT NULL AND r.rolled_back_at IS NULL`

/**
 * The redemptions of an order with items that are not rolled back. Prevents others until the transaction ends: an order
 * has no row of its own to lock.
 */
export const lockOrder = async (
  client: ClientBase,
  { projectId, orderId }: { projectId: string; orderId: string },
): Promise<(OrderRedemption & { currency: string })[]> => {
  const values = [projectId, orderId]
  await lockOrderId(client, projectId, orderId)
  const { rows } = await client.query<OrderRedemption & { currency: string }>({
    name: 'redemptions-of-order',
    text: REDEMPTIONS_OF_ORDER,
    values,
  })
  return rows
}

/** The limits of a pool when its coupon is claimed. `budgetAmount` in minor units. */
export type Limits = {
  perProfileLimit: number | null
  maxRedemptions: number | null
  budgetAmount: number | null
}

// The rules of `refusalOf`, for the locked row.
const OPEN = `p.status = 'ready' AND (p.starts_at IS NULL OR p.starts_at <= $2) AND (p.expires_at IS NULL OR p.expires_at > $2)
  AND (p.per_profile_limit IS NULL OR $3::uuid IS NOT NULL)`
/** Whether a coupon and its pool can be redeemed: coupon $1 at $2 by profile $3. */
const OF_PERSON = `
  c.id = $1 AND p.id = c.pool_id AND c.status IN ('available', 'assigned') AND ${OPEN}
  AND (c.assigned_profile_id IS NULL OR c.assigned_profile_id = $3
    OR EXISTS (SELECT 1 FROM ingest.profiles m WHERE m.id = c.assigned_profile_id AND m.merged_into = $3))`
/** The same for a unique code, which other carts than the hold $4 may hold. */
export const REDEEMABLE = `${OF_PERSON}
  AND (c.held_until IS NULL OR c.held_until <= $2 OR c.hold_id = $4)`
export const LIMITS = `p.per_profile_limit AS "perProfileLimit", p.max_redemptions AS "maxRedemptions",
  p.budget_amount::float8 AS "budgetAmount"`

const CLAIM_UNIQUE = `
  UPDATE coupon.coupons c SET status = 'redeemed', redeemed_at = $2, hold_id = NULL, held_until = NULL
  FROM coupon.pools p
  WHERE ${REDEEMABLE} RETURNING ${LIMITS}`
// A shared coupon is not updated, so that concurrent redemptions wait only for the pool's count.
const CLAIM_SHARED = `SELECT ${LIMITS} FROM coupon.coupons c, coupon.pools p WHERE ${OF_PERSON}`
const CLAIM_PROMOTION = `SELECT ${LIMITS} FROM coupon.pools p WHERE p.id = $1 AND p.kind = 'automatic' AND ${OPEN}`
const CLAIMS = {
  unique: ['claim-coupon', CLAIM_UNIQUE],
  shared: ['claim-shared-coupon', CLAIM_SHARED],
  automatic: ['claim-promotion', CLAIM_PROMOTION],
} as const
// Only the lock: the balance is read by the next statement, since this one may wait.
const LOCK_CARD = `
  SELECT FROM coupon.coupons c, coupon.pools p WHERE p.kind = 'balance' AND ${REDEEMABLE} FOR NO KEY UPDATE OF c`
const END_HOLD = 'UPDATE coupon.coupons SET hold_id = NULL, held_until = NULL WHERE id = $1 AND hold_id = $2'

// Moves the counts of merged profiles to this one.
const TAKE_OVER = `
  WITH given AS (
    DELETE FROM coupon.profile_counts WHERE pool_id = $1
      AND profile_id IN (SELECT id FROM ingest.profiles WHERE merged_into = $2) RETURNING redeemed, held
  )
  INSERT INTO coupon.profile_counts AS known (pool_id, profile_id, redeemed, held)
  SELECT $1, $2, sum(redeemed), sum(held) FROM given HAVING count(*) > 0
  ON CONFLICT (pool_id, profile_id) DO UPDATE SET redeemed = known.redeemed + excluded.redeemed,
    held = known.held + excluded.held`
const COUNT_PROFILE = `
  INSERT INTO coupon.profile_counts AS known (pool_id, profile_id, redeemed) VALUES ($1, $2, 1)
  ON CONFLICT (pool_id, profile_id) DO UPDATE SET redeemed = known.redeemed + 1
    WHERE $3::int IS NULL OR known.redeemed + known.held < $3`
// Holds that have ended count until they are removed, which a refused redemption does before it tries again.
const COUNT_POOL = `
  UPDATE coupon.pool_counts SET redeemed = redeemed + 1
  WHERE pool_id = $1 AND ($2::int IS NULL OR redeemed + held < $2) RETURNING redeemed`
const CHARGE_POOL = `
  UPDATE coupon.pool_counts SET redeemed = redeemed + 1, granted = granted + $3
  WHERE pool_id = $1 AND ($2::int IS NULL OR redeemed + held < $2) AND granted + held_amount + $3 <= $4
  RETURNING redeemed`

const STORE = `
  INSERT INTO coupon.redemptions (id, project_id, pool_id, coupon_id, profile_id, visitor_id, user_id, order_id, amount,
    currency, event_id, metadata, redeemed_at)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)`
const STORE_GRANTED = `
  INSERT INTO coupon.redemptions (id, project_id, pool_id, coupon_id, profile_id, visitor_id, user_id, order_id, amount,
    currency, event_id, metadata, redeemed_at, discount_amount, shipping_discount_amount, items, budget_charge)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)`
const STORE_ATTEMPT = `
  INSERT INTO coupon.attempts (id, project_id, coupon_id, reason, profile_id, visitor_id, user_id, order_id, attempted_at)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`

/** Claims a coupon for one redemption, also one that the hold has; undefined when it cannot be redeemed. */
export const claimCoupon = async (
  client: ClientBase,
  { id, pool }: Coupon,
  profileId: string | null,
  at: Date,
  holdId: string | null = null,
): Promise<Limits | undefined> => {
  if (pool.kind === 'balance') throw new Error('a gift card is not claimed: it pays')
  const [name, text] = CLAIMS[pool.kind]
  const values = [id, at, profileId, ...(pool.kind === 'unique' ? [holdId] : [])]
  return (await client.query<Limits>({ name, text, values })).rows[0]
}

/** Locks a gift card that can pay, also one that the hold has, until the transaction ends; false when it cannot. */
export const lockCard = async (
  client: ClientBase,
  { id }: Coupon,
  profileId: string | null,
  at: Date,
  holdId: string | null = null,
): Promise<boolean> => {
  const values = [id, at, profileId, holdId]
  const { rowCount } = await client.query({ name: 'lock-card', text: LOCK_CARD, values })
  if (rowCount === 1 && holdId !== null) await client.query(END_HOLD, [id, holdId])
  return rowCount === 1
}

/** Moves the counts of profiles that were merged into this one to it. */
export const takeOverCounts = async (
  client: ClientBase,
  poolId: string,
  profileId: string,
): Promise<void> => {
  await client.query({ name: 'take-over-counts', text: TAKE_OVER, values: [poolId, profileId] })
}

/** Counts a redemption for a profile; false beyond the limit. */
export const countForProfile = async (
  client: ClientBase,
  poolId: string,
  profileId: string,
  limit: number | null,
): Promise<boolean> => {
  if (limit !== null) await takeOverCounts(client, poolId, profileId)
  const { rowCount } = await client.query({
    name: 'count-for-profile',
    text: COUNT_PROFILE,
    values: [poolId, profileId, limit],
  })
  return rowCount === 1
}

/** What a redemption takes from a pool's budget, in minor units. */
export type Charge = { discountAmount: number; budgetAmount: number }

/** Counts a redemption for its pool and resolves to the count; undefined beyond the limit or the budget. */
export const countForPool = async (
  client: ClientBase,
  poolId: string,
  limit: number | null,
  charge: Charge | undefined,
): Promise<number | undefined> => {
  const counting = charge
    ? {
        name: 'charge-pool',
        text: CHARGE_POOL,
        values: [poolId, limit, charge.discountAmount, charge.budgetAmount],
      }
    : { name: 'count-for-pool', text: COUNT_POOL, values: [poolId, limit] }
  const { rows } = await client.query<{ redeemed: number }>(counting)
  return rows[0]?.redeemed
}

/** The statement that stores a redemption, and what it grants for a cart. */
export const storeRedemption = (
  projectId: string,
  made: Redemption,
  granted: Granted | undefined,
  charge: Charge | undefined,
): QueryConfig => {
  const { id, poolId, couponId, profileId, visitorId, userId, orderId } = made
  const values = [
    id,
    projectId,
    poolId,
    couponId,
    profileId,
    visitorId,
    userId,
    orderId,
    made.amount,
    made.currency,
    made.eventId,
    JSON.stringify(made.metadata),
    made.redeemedAt,
  ]
  if (!granted) return { name: 'store-redemption', text: STORE, values }
  const { discountAmount, shippingDiscountAmount, items } = granted
  const more = [discountAmount, shippingDiscountAmount, JSON.stringify(items), charge?.discountAmount ?? null]
  return { name: 'store-granted-redemption', text: STORE_GRANTED, values: [...values, ...more] }
}

/** Stores a refused redemption. */
export const storeAttempt = async (
  client: ClientBase,
  { id, projectId }: Coupon,
  attempt: Pick<Redemption, 'profileId' | 'visitorId' | 'userId' | 'orderId'> & {
    reason: CouponRefusal | CartRefusal
    at: Date
  },
): Promise<void> => {
  const { reason, profileId, visitorId, userId, orderId, at } = attempt
  await client.query({
    name: 'store-attempt',
    text: STORE_ATTEMPT,
    values: [uuidv7(), projectId, id, reason, profileId, visitorId, userId, orderId, at],
  })
}
