import type { CouponRules, Discount } from '@waymark/contracts/http/coupon-views'
import { type CartPool, type CouponState, displayCode, refusalOf } from '@waymark/domain/coupon'
import type { ClientBase, Pool } from 'pg'

/**
 * A coupon and its pool. `code` is formatted for display, `normalizedCode` for comparison. An automatic promotion has the id
 * of its pool and no code; its `normalizedCode` is a key that no code is equal to.
 */
export type Coupon = CouponState & {
  id: string
  projectId: string
  code: string | null
  normalizedCode: string
  assignedProfileId: string | null
  redeemedAt: Date | null
  /** Until when a cart holds it; null for a promotion, and for the cart of the request. */
  heldUntil: Date | null
  /** What a gift card holds, in minor units; null for other coupons. */
  card: { balance: number; currency: string } | null
  pool: CartPool & { name: string; perProfileLimit: number | null }
}

/** A coupon with a code. */
export type CodedCoupon = Coupon & { code: string }

/** A coupon whose balance pays for orders. */
export type GiftCard = CodedCoupon & { card: NonNullable<Coupon['card']> }

export const isGiftCard = (coupon: Coupon): coupon is GiftCard => coupon.card !== null && coupon.code !== null

type PoolRow = {
  pool_id: string
  name: string
  kind: Coupon['pool']['kind']
  pool_status: Coupon['pool']['status']
  prefix: string
  discount: Discount
  starts_at: Date | null
  expires_at: Date | null
  per_profile_limit: number | null
  max_redemptions: number | null
  redeemed: number
  rules: CouponRules | null
  stackable: boolean
  budget_amount: number | null
  priority: number
  budget_currency: string | null
  granted: number
}
type Row = PoolRow & {
  id: string
  code: string
  display: string | null
  status: Coupon['status']
  assigned_profile_id: string | null
  redeemed_at: Date | null
  held_until: Date | null
  card: Coupon['card']
}

const POOL = `p.id AS pool_id, p.name, p.kind, p.status AS pool_status, p.prefix, p.discount, p.starts_at, p.expires_at,
    p.per_profile_limit, p.max_redemptions, n.redeemed + held.uses AS redeemed, p.rules, p.stackable, p.priority,
    p.budget_amount::float8 AS budget_amount, p.budget_currency, (n.granted + held.amount)::float8 AS granted`
// What live holds reserve. Those that have ended are still in the counts of the pool, so they are not read from these.
const heldAt = (at: string, replaced: string) => `CROSS JOIN LATERAL (
    SELECT count(*)::int AS uses, coalesce(sum(budget_charge), 0) AS amount FROM coupon.hold_items
    WHERE n.held > 0 AND pool_id = n.pool_id AND expires_at > ${at}
      AND hold_id IS DISTINCT FROM ${replaced}::uuid) held`
const SELECT = `
  SELECT c.id, c.code, c.display, c.status, c.assigned_profile_id, c.redeemed_at,
    CASE WHEN c.hold_id IS DISTINCT FROM $4::uuid THEN c.held_until END AS held_until,
    CASE WHEN p.kind = 'balance' THEN json_build_object('currency', p.card_currency, 'balance',
      coalesce((SELECT balance FROM coupon.card_balances WHERE coupon_id = c.id), 0)) END AS card, ${POOL}
  FROM coupon.coupons c
  JOIN coupon.pools p ON p.id = c.pool_id
  JOIN coupon.pool_counts n ON n.pool_id = c.pool_id
  ${heldAt('$3', '$4')}`
const FIND_BY_ID = `${SELECT} WHERE c.project_id = $1 AND c.id = ANY($2::uuid[])`
const FIND = `${SELECT} WHERE c.project_id = $1 AND c.code = $2`
const FIND_ALL = `${SELECT} WHERE c.project_id = $1 AND c.code = ANY($2::text[])`
const promotions = (held: string) => `
  SELECT ${POOL} FROM coupon.pools p JOIN coupon.pool_counts n ON n.pool_id = p.id ${held}
  WHERE p.project_id = $1 AND p.kind = 'automatic'`
const FIND_READY_PROMOTIONS = `${promotions(heldAt('$2', '$3'))} AND p.status = 'ready' ORDER BY p.id`
const FIND_PROMOTIONS = `${promotions(heldAt('$3', '$4'))} AND p.id = ANY($2::uuid[])`

/** The holds that count: those that are live at `at`, without the one that a request replaces. */
export type SeenHolds = { at: Date; replacedId?: string | null }
const seenValues = ({ at, replacedId = null }: SeenHolds) => [at, replacedId]

/** A project's coupon by its normalized code, with what carts hold. */
export const findCoupon = async (
  db: Pool | ClientBase,
  projectId: string,
  code: string,
  seen: SeenHolds,
): Promise<CodedCoupon | undefined> => {
  const { rows } = await db.query<Row>({
    name: 'find-coupon',
    text: FIND,
    values: [projectId, code, ...seenValues(seen)],
  })
  const [row] = rows
  return row && couponOf(projectId, row)
}

/** Those of a project's coupons that have one of the normalized codes, in any order. */
export const findCoupons = async (
  db: Pool | ClientBase,
  projectId: string,
  codes: readonly string[],
  seen: SeenHolds,
): Promise<CodedCoupon[]> => {
  if (codes.length === 0) return []
  const values = [projectId, codes, ...seenValues(seen)]
  const { rows } = await db.query<Row>({ name: 'find-coupons', text: FIND_ALL, values })
  return rows.map((row) => couponOf(projectId, row))
}

/** The coupons and promotions of a hold by their ids, in any order. */
export const findHeldCoupons = async (
  db: Pool | ClientBase,
  projectId: string,
  ids: readonly string[],
  seen: SeenHolds,
): Promise<Coupon[]> => {
  const values = [projectId, ids, ...seenValues(seen)]
  const { rows } = await db.query<Row>({ name: 'find-held-coupons', text: FIND_BY_ID, values })
  const promotions = await findPromotions(db, projectId, ids, seen)
  return [...rows.map((row) => ({ ...couponOf(projectId, row), heldUntil: null })), ...promotions]
}

/** A project's automatic promotions that are not archived, in the order of their ids. */
export const findReadyPromotions = async (
  db: Pool | ClientBase,
  projectId: string,
  seen: SeenHolds,
): Promise<Coupon[]> => {
  const { rows } = await db.query<PoolRow>({
    name: 'find-ready-promotions',
    text: FIND_READY_PROMOTIONS,
    values: [projectId, ...seenValues(seen)],
  })
  return rows.map((row) => promotionOf(projectId, row))
}

/** Those of a project's automatic promotions that have one of the ids, in any order. */
export const findPromotions = async (
  db: Pool | ClientBase,
  projectId: string,
  ids: readonly string[],
  seen: SeenHolds,
): Promise<Coupon[]> => {
  if (ids.length === 0) return []
  const values = [projectId, ids, ...seenValues(seen)]
  const { rows } = await db.query<PoolRow>({ name: 'find-promotions', text: FIND_PROMOTIONS, values })
  return rows.map((row) => promotionOf(projectId, row))
}

/** A coupon or promotion in its state at `at`; undefined if it is gone. */
export const findAgain = async (db: ClientBase, coupon: Coupon, at: Date): Promise<Coupon | undefined> => {
  const { projectId, normalizedCode, pool } = coupon
  if (pool.kind !== 'automatic') return findCoupon(db, projectId, normalizedCode, { at })
  const [promotion] = await findPromotions(db, projectId, [pool.id], { at })
  return promotion
}

const promotionOf = (projectId: string, row: PoolRow): Coupon => ({
  id: row.pool_id,
  projectId,
  code: null,
  normalizedCode: `~${row.pool_id}`,
  status: 'available',
  assignedProfileId: null,
  redeemedAt: null,
  heldUntil: null,
  card: null,
  pool: poolOf(row),
})

const couponOf = (projectId: string, row: Row): CodedCoupon => ({
  id: row.id,
  projectId,
  code: displayCode(row, row.prefix),
  normalizedCode: row.code,
  status: row.status,
  assignedProfileId: row.assigned_profile_id,
  redeemedAt: row.redeemed_at,
  heldUntil: row.held_until,
  card: row.card,
  pool: poolOf(row),
})

const poolOf = (row: PoolRow): Coupon['pool'] => ({
  id: row.pool_id,
  name: row.name,
  kind: row.kind,
  status: row.pool_status,
  discount: row.discount,
  rules: row.rules,
  stackable: row.stackable,
  priority: row.priority,
  budget:
    row.budget_amount === null || row.budget_currency === null
      ? null
      : { amount: row.budget_amount, currency: row.budget_currency, used: row.granted },
  startsAt: row.starts_at,
  expiresAt: row.expires_at,
  perProfileLimit: row.per_profile_limit,
  maxRedemptions: row.max_redemptions,
  redeemed: row.redeemed,
})

/**
 * A coupon as shops see it. `status` says what a redemption at `now` (ms since the epoch) would give. `showsBalance`: false for
 * public keys.
 */
export const viewCoupon = <C extends Coupon>(coupon: C, now: number, showsBalance = false) => {
  const { code, pool, redeemedAt, card }: Pick<C, 'code' | 'pool' | 'redeemedAt' | 'card'> = coupon
  const refusal = refusalOf(coupon, now)
  return {
    code,
    status: refusal === 'already_redeemed' ? 'redeemed' : (refusal ?? coupon.status),
    pool: { id: pool.id, name: pool.name, kind: pool.kind },
    discount: pool.discount,
    startsAt: pool.startsAt,
    expiresAt: pool.expiresAt,
    ...(redeemedAt && { redeemedAt }),
    ...(card && showsBalance && { balance: { amount: card.balance, currency: card.currency } }),
  }
}
