import { setTimeout as sleep } from 'node:timers/promises'
import type { CouponStatus, Discount } from '@waymark/contracts'
import type { Database } from '@waymark/database'
import { displayCode, refusalOf } from '@waymark/domain'
import {
  assignAvailableCoupon,
  type CouponRow,
  findAssignedCoupon,
  findPool,
  findSharedCoupon,
  hasAvailableCoupon,
} from './coupon-queries.ts'

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

const ATTEMPTS = 6
const DELAY_MS = 20

/**
 * Gives a profile one coupon of a pool, the same one whenever and however often it is asked; of a shared pool its code.
 * `profileId` is a living profile. Whether the coupon was redeemed since makes no difference, a revoked one is not shown.
 */
export const createAssignCoupon = ({ pool: db }: Pick<Database, 'pool'>, now: () => number = Date.now) => {
  /** Others may hold the last coupons, and give them back when their profile turns out to have one. */
  const assign = async (poolId: string, profileId: string): Promise<CouponRow | undefined> => {
    for (let attempt = 1; ; attempt++) {
      const given = await assignAvailableCoupon(db, poolId, profileId)
      if (given) return given
      // In this order: whoever took the last one for the same profile has been seen by the time that none is left.
      const left = await hasAvailableCoupon(db, poolId)
      const assigned = await findAssignedCoupon(db, poolId, profileId)
      if (assigned || attempt === ATTEMPTS || !left) return assigned
      await sleep(Math.random() * DELAY_MS * attempt)
    }
  }

  return async (projectId: string, poolId: string, profileId: string): Promise<AssignedCoupon | NoCoupon> => {
    const pool = await findPool(db, projectId, poolId)
    if (!pool) return { reason: 'not_found' }
    const known =
      pool.kind === 'shared'
        ? await findSharedCoupon(db, poolId)
        : await findAssignedCoupon(db, poolId, profileId)

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
