import { setTimeout as sleep } from 'node:timers/promises'
import type { CouponStatus } from '@waymark/contracts/coupon'
import type { Discount } from '@waymark/contracts/http/coupon-views'
import type { Database } from '@waymark/database'
import { displayCode, refusalOf } from '@waymark/domain/coupon'
import {
  assignAvailableCoupon,
  type CouponRow,
  findAssignedCoupon,
  findPool,
  findSharedCoupon,
  hasAvailableCoupon,
  waitForAvailableCoupon,
} from './coupon-queries.ts'

/** A coupon of a profile. It may be redeemed already. */
export type AssignedCoupon = {
  couponId: string
  code: string
  status: CouponStatus
  discount: Discount
  expiresAt: Date | null
}

/** Why a profile gets no coupon. `not_found`: the project has no such pool. */
type NoCoupon = { reason: 'not_found' | 'pool_not_ready' | 'expired' | 'revoked' | 'exhausted' }

const ATTEMPTS = 6
const DELAY_MS = 20

/**
 * Assigns one coupon of a pool to a profile, always the same one; of a shared pool its code. `profileId` must be an
 * existing profile. A redeemed coupon is returned too, but not a revoked one.
 */
export const createAssignCoupon = ({ pool: db }: Pick<Database, 'pool'>, now: () => number = Date.now) => {
  /**
   * Retries, because other transactions may lock the last coupons and release them without an assignment. At last it waits
   * for them: they may take longer than the attempts.
   */
  const assign = async (poolId: string, profileId: string): Promise<CouponRow | undefined> => {
    for (let attempt = 1; ; attempt++) {
      const take = attempt < ATTEMPTS ? assignAvailableCoupon : waitForAvailableCoupon
      const given = await take(db, poolId, profileId)
      if (given) return given
      // In this order, so that an assignment of the last coupon to the same profile is found.
      const left = await hasAvailableCoupon(db, poolId)
      const assigned = await findAssignedCoupon(db, poolId, profileId)
      if (assigned || attempt === ATTEMPTS || !left) return assigned
      await sleep(Math.random() * DELAY_MS * attempt)
    }
  }

  return async (projectId: string, poolId: string, profileId: string): Promise<AssignedCoupon | NoCoupon> => {
    const pool = await findPool(db, projectId, poolId)
    // Gift cards are money: nobody gets one by asking for a decision.
    if (!pool || pool.kind === 'balance') return { reason: 'not_found' }
    const known =
      pool.kind === 'shared'
        ? await findSharedCoupon(db, poolId)
        : await findAssignedCoupon(db, poolId, profileId)

    const { starts_at: startsAt, expires_at: expiresAt, max_redemptions: maxRedemptions, redeemed } = pool
    const state = { kind: pool.kind, status: pool.status, startsAt, expiresAt, maxRedemptions, redeemed }
    const refusal = refusalOf({ status: known?.status ?? 'available', pool: state }, now())
    if (refusal !== undefined && refusal !== 'already_redeemed' && refusal !== 'held')
      return { reason: refusal }
    // Without redemptions left in the pool, the profile keeps its coupon but gets no new one.
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
