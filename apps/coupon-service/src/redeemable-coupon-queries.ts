import type { CouponRules, Discount } from '@waymark/contracts/http/coupon-views'
import { type CartPool, type CouponState, displayCode, refusalOf } from '@waymark/domain/coupon'
import type { ClientBase, Pool } from 'pg'

/** A coupon and its pool. `code` is formatted for display, `normalizedCode` for comparison. */
export type Coupon = CouponState & {
  id: string
  projectId: string
  code: string
  normalizedCode: string
  assignedProfileId: string | null
  redeemedAt: Date | null
  pool: CartPool & { name: string; perProfileLimit: number | null }
}

type Row = {
  id: string
  code: string
  display: string | null
  status: Coupon['status']
  assigned_profile_id: string | null
  redeemed_at: Date | null
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
  budget_currency: string | null
  granted: number
}

const SELECT = `
  SELECT c.id, c.code, c.display, c.status, c.assigned_profile_id, c.redeemed_at, c.pool_id, p.name, p.kind,
    p.status AS pool_status, p.prefix, p.discount, p.starts_at, p.expires_at, p.per_profile_limit, p.max_redemptions,
    n.redeemed, p.rules, p.stackable, p.budget_amount::float8 AS budget_amount, p.budget_currency,
    n.granted::float8 AS granted
  FROM coupon.coupons c
  JOIN coupon.pools p ON p.id = c.pool_id
  JOIN coupon.pool_counts n ON n.pool_id = c.pool_id`
const FIND = `${SELECT} WHERE c.project_id = $1 AND c.code = $2`
const FIND_ALL = `${SELECT} WHERE c.project_id = $1 AND c.code = ANY($2::text[])`

/** A project's coupon by its normalized code. */
export const findCoupon = async (
  db: Pool | ClientBase,
  projectId: string,
  code: string,
): Promise<Coupon | undefined> => {
  const { rows } = await db.query<Row>({ name: 'find-coupon', text: FIND, values: [projectId, code] })
  const [row] = rows
  return row && couponOf(projectId, row)
}

/** Those of a project's coupons that have one of the normalized codes, in any order. */
export const findCoupons = async (
  db: Pool | ClientBase,
  projectId: string,
  codes: readonly string[],
): Promise<Coupon[]> => {
  if (codes.length === 0) return []
  const { rows } = await db.query<Row>({ name: 'find-coupons', text: FIND_ALL, values: [projectId, codes] })
  return rows.map((row) => couponOf(projectId, row))
}

const couponOf = (projectId: string, row: Row): Coupon => ({
  id: row.id,
  projectId,
  code: displayCode(row, row.prefix),
  normalizedCode: row.code,
  status: row.status,
  assignedProfileId: row.assigned_profile_id,
  redeemedAt: row.redeemed_at,
  pool: {
    id: row.pool_id,
    name: row.name,
    kind: row.kind,
    status: row.pool_status,
    discount: row.discount,
    rules: row.rules,
    stackable: row.stackable,
    budget:
      row.budget_amount === null || row.budget_currency === null
        ? null
        : { amount: row.budget_amount, currency: row.budget_currency, used: row.granted },
    startsAt: row.starts_at,
    expiresAt: row.expires_at,
    perProfileLimit: row.per_profile_limit,
    maxRedemptions: row.max_redemptions,
    redeemed: row.redeemed,
  },
})

/** A coupon as shops see it. `status` says what a redemption at `now` (ms since the epoch) would give. */
export const viewCoupon = (coupon: Coupon, now: number) => {
  const { code, pool, redeemedAt } = coupon
  const refusal = refusalOf(coupon, now)
  return {
    code,
    status: refusal === 'already_redeemed' ? 'redeemed' : (refusal ?? coupon.status),
    pool: { id: pool.id, name: pool.name, kind: pool.kind },
    discount: pool.discount,
    startsAt: pool.startsAt,
    expiresAt: pool.expiresAt,
    ...(redeemedAt && { redeemedAt }),
  }
}
