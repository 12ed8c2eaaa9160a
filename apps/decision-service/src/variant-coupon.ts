import { type Cache, readCopy } from '@waymark/cache'
import type { Log } from '@waymark/contracts/log'
import { compileValidator } from '@waymark/contracts/validator'
import { assignedCouponKey } from '@waymark/pipeline'
import { LRUCache } from 'lru-cache'
import pTimeout from 'p-timeout'
import { type Static, Type } from 'typebox'

/**
 * Assigns one coupon of a pool to an existing profile, the same for every call, or returns the reason why not.
 */
export type AssignCoupon = (
  projectId: string,
  poolId: string,
  profileId: string,
) => Promise<{ code: string; expiresAt?: Date | null } | { reason: string }>

/** A coupon in the result of a decision. */
const AssignedCoupon = Type.Object({
  code: Type.String(),
  expiresAt: Type.Unsafe<string | null>({ type: ['string', 'null'] }),
})
type AssignedCoupon = Static<typeof AssignedCoupon>
const couponValidator = compileValidator(AssignedCoupon)

export type CouponResult = { coupon: AssignedCoupon } | { coupon: null; couponReason: string }

const MAX_COUPONS = 50_000
const TTL_MS = 60_000
const COPY_MS = 10 * 60_000
const DEADLINE_MS = 1_000

type VariantCouponDeps = { assignCoupon: AssignCoupon; cache: Cache; log: Log }

/**
 * Assigns coupons and caches them, because decisions are requested much more often than coupons are assigned. Concurrent
 * calls for one profile share an assignment, and no call waits longer than a second.
 */
export const createAssignVariantCoupon = ({ assignCoupon, cache, log }: VariantCouponDeps) => {
  const coupons = new LRUCache<string, AssignedCoupon>({ max: MAX_COUPONS, ttl: TTL_MS })
  const inFlight = new Map<string, Promise<CouponResult>>()

  const assign = async (
    name: string,
    projectId: string,
    poolId: string,
    profileId: string,
  ): Promise<CouponResult> => {
    const copy = await readCopy(cache, name, couponValidator)
    if (copy !== undefined) {
      coupons.set(name, copy)
      return { coupon: copy }
    }
    const assigned = await assignCoupon(projectId, poolId, profileId)
    if ('reason' in assigned) return { coupon: null, couponReason: assigned.reason }
    const coupon = { code: assigned.code, expiresAt: assigned.expiresAt?.toISOString() ?? null }
    coupons.set(name, coupon)
    void cache.set(name, JSON.stringify(coupon), COPY_MS)
    return { coupon }
  }

  const assignOnce = (
    name: string,
    projectId: string,
    poolId: string,
    profileId: string,
  ): Promise<CouponResult> => {
    const known = inFlight.get(name)
    if (known !== undefined) return known
    const fresh = assign(name, projectId, poolId, profileId)
      .catch((error: unknown): CouponResult => {
        log.warn({ err: error, poolId }, 'Coupon could not be assigned')
        return UNAVAILABLE
      })
      .finally(() => inFlight.delete(name))
    inFlight.set(name, fresh)
    return fresh
  }

  return async (projectId: string, poolId: string, profileId: string): Promise<CouponResult> => {
    const name = assignedCouponKey(projectId, poolId, profileId)
    const known = coupons.get(name)
    if (known) return { coupon: known }
    return pTimeout(assignOnce(name, projectId, poolId, profileId), {
      milliseconds: DEADLINE_MS,
      fallback: () => UNAVAILABLE,
    })
  }
}

export type AssignVariantCoupon = ReturnType<typeof createAssignVariantCoupon>

const UNAVAILABLE: CouponResult = { coupon: null, couponReason: 'unavailable' }
