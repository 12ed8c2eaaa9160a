import { setTimeout as sleep } from 'node:timers/promises'
import type { CouponStatus, Discount, PoolKind, PoolStatus } from '@waymark/contracts'
import type { Database } from '@waymark/database'
import { displayCode, refusalOf } from '@waymark/domain'

/** A coupon that belongs to a profile; `status` tells whether it was redeemed since. */
export type AssignedCoupon = {
  couponId: string
  code: string
  status: CouponStatus
  discount: Discount
  expiresAt: Date | null
}

/** Why a profile gets no coupon. `not_found`: the project has no such pool. */
export type NoCoupon = { reason: 'not_found' | 'pool_not_ready' | 'expired' | 'revoked' | 'exhausted' }

type PoolRow = {
  kind: PoolKind
  status: PoolStatus
  prefix: string
  discount: Discount
  starts_at: Date | null
  expires_at: Date | null
  max_redemptions: number | null
  redeemed: number
}
type CouponRow = { id: string; code: string; display: string | null; status: CouponStatus }

const POOL = `
  SELECT p.kind, p.status, p.prefix, p.discount, p.starts_at, p.expires_at, p.max_redemptions, n.redeemed
  FROM coupon.pools p JOIN coupon.pool_counts n ON n.pool_id = p.id
  WHERE p.id = $1 AND p.project_id = $2`

const SHARED = 'SELECT id, code, display, status FROM coupon.coupons WHERE pool_id = $1 LIMIT 1'

// A profile keeps what was given to those that were merged into it; its own comes first.
const ASSIGNED = `
  SELECT c.id, c.code, c.display, c.status
  FROM coupon.assignments a JOIN coupon.coupons c ON c.id = a.coupon_id
  WHERE a.pool_id = $1
    AND (a.profile_id = $2 OR a.profile_id IN (SELECT id FROM ingest.profiles WHERE merged_into = $2))
  ORDER BY a.profile_id = $2 DESC, a.assigned_at, a.coupon_id LIMIT 1`

// The key of the assignments lets a profile have one, whatever it picks at the same time elsewhere. An erasure waits
// for it; whoever has been erased gets none.
const ASSIGN = `
  WITH known AS (
    SELECT id FROM ingest.profiles WHERE id = $2 FOR KEY SHARE
  ), picked AS (
    SELECT id FROM coupon.coupons WHERE pool_id = $1 AND status = 'available' AND EXISTS (SELECT FROM known)
    ORDER BY id NULLS FIRST LIMIT 1 FOR UPDATE SKIP LOCKED
  ), claimed AS (
    INSERT INTO coupon.assignments (pool_id, profile_id, coupon_id) SELECT $1, $2, id FROM picked
    ON CONFLICT DO NOTHING RETURNING coupon_id
  )
  UPDATE coupon.coupons c SET status = 'assigned', assigned_profile_id = $2, assigned_at = now()
  FROM claimed WHERE c.id = claimed.coupon_id RETURNING c.id, c.code, c.display, c.status`

const ANY_LEFT = `SELECT 1 FROM coupon.coupons WHERE pool_id = $1 AND status = 'available' LIMIT 1`

const ATTEMPTS = 6
const DELAY_MS = 20

/**
 * Gives a profile one coupon of a pool, the same one whenever and however often it is asked; of a shared pool its code.
 * `profileId` is a living profile. Whether the coupon was redeemed since makes no difference, a revoked one is not shown.
 */
export const createAssignCoupon = ({ pool: db }: Pick<Database, 'pool'>, now: () => number = Date.now) => {
  const findCoupon = async (name: string, text: string, values: string[]): Promise<CouponRow | undefined> =>
    (await db.query<CouponRow>({ name, text, values })).rows[0]

  /** Others may hold the last coupons, and give them back when their profile turns out to have one. */
  const assign = async (poolId: string, profileId: string): Promise<CouponRow | undefined> => {
    for (let attempt = 1; ; attempt++) {
      const given = await findCoupon('assign-coupon', ASSIGN, [poolId, profileId])
      if (given) return given
      // In this order: whoever took the last one for the same profile has been seen by the time that none is left.
      const left = await findCoupon('coupons-left', ANY_LEFT, [poolId])
      const assigned = await findCoupon('assigned-coupon', ASSIGNED, [poolId, profileId])
      if (assigned || attempt === ATTEMPTS || !left) return assigned
      await sleep(Math.random() * DELAY_MS * attempt)
    }
  }

  return async (projectId: string, poolId: string, profileId: string): Promise<AssignedCoupon | NoCoupon> => {
    const { rows } = await db.query<PoolRow>({
      name: 'pool-to-assign',
      text: POOL,
      values: [poolId, projectId],
    })
    const [pool] = rows
    if (!pool) return { reason: 'not_found' }
    const known =
      pool.kind === 'shared'
        ? await findCoupon('shared-coupon', SHARED, [poolId])
        : await findCoupon('assigned-coupon', ASSIGNED, [poolId, profileId])

    const { starts_at: startsAt, expires_at: expiresAt, max_redemptions: maxRedemptions, redeemed } = pool
    const state = { kind: pool.kind, status: pool.status, startsAt, expiresAt, maxRedemptions, redeemed }
    const refusal = refusalOf({ status: known?.status ?? 'available', pool: state }, now())
    if (refusal !== undefined && refusal !== 'already_redeemed') return { reason: refusal }
    // A coupon that was given stays; a new one of a pool that takes no more redemptions would be worth nothing.
    if (refusal === 'already_redeemed' && known?.status !== 'redeemed' && known?.status !== 'assigned')
      return { reason: 'exhausted' }

    const coupon = known ?? (await assign(poolId, profileId))
    if (!coupon) return { reason: 'exhausted' }
    return {
      couponId: coupon.id,
      code: displayCode(coupon, pool.prefix),
      status: coupon.status,
      discount: pool.discount,
      expiresAt,
    }
  }
}
