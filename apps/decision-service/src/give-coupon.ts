import { type Cache, readCopy } from '@waymark/cache'
import { compileValidator, type Log } from '@waymark/contracts'
import { givenCouponKey } from '@waymark/pipeline'
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

/** A coupon in the answer of a decision. */
const GivenCoupon = Type.Object({
  code: Type.String(),
  expiresAt: Type.Unsafe<string | null>({ type: ['string', 'null'] }),
})
type GivenCoupon = Static<typeof GivenCoupon>
const givenCoupon = compileValidator(GivenCoupon)

export type CouponAnswer = { coupon: GivenCoupon } | { coupon: null; couponReason: string }

const MAX_COUPONS = 50_000
const REMEMBERED_MS = 60_000
const COPY_MS = 10 * 60_000
const DEADLINE_MS = 1_000

type GiveCouponDeps = { assignCoupon: AssignCoupon; cache: Cache; log: Log }

/**
 * Assigns coupons and caches them, because decisions are requested much more often than coupons are assigned. Concurrent
 * calls for one profile share an assignment, and no call waits longer than a second.
 */
export const createGiveCoupon = ({ assignCoupon, cache, log }: GiveCouponDeps) => {
  const given = new LRUCache<string, GivenCoupon>({ max: MAX_COUPONS, ttl: REMEMBERED_MS })
  const inFlight = new Map<string, Promise<CouponAnswer>>()

  const assign = async (
    name: string,
    projectId: string,
    poolId: string,
    profileId: string,
  ): Promise<CouponAnswer> => {
    const copy = await readCopy(cache, name, givenCoupon)
    if (copy !== undefined) {
      given.set(name, copy)
      return { coupon: copy }
    }
    const answer = await assignCoupon(projectId, poolId, profileId)
    if ('reason' in answer) return { coupon: null, couponReason: answer.reason }
    const coupon = { code: answer.code, expiresAt: answer.expiresAt?.toISOString() ?? null }
    given.set(name, coupon)
    void cache.set(name, JSON.stringify(coupon), COPY_MS)
    return { coupon }
  }

  const assignOnce = (
    name: string,
    projectId: string,
    poolId: string,
    profileId: string,
  ): Promise<CouponAnswer> => {
    const known = inFlight.get(name)
    if (known !== undefined) return known
    const fresh = assign(name, projectId, poolId, profileId)
      .catch((error: unknown): CouponAnswer => {
        log.warn({ err: error, poolId }, 'Coupon could not be assigned')
        return UNAVAILABLE
      })
      .finally(() => inFlight.delete(name))
    inFlight.set(name, fresh)
    return fresh
  }

  return async (projectId: string, poolId: string, profileId: string): Promise<CouponAnswer> => {
    const name = givenCouponKey(projectId, poolId, profileId)
    const known = given.get(name)
    if (known) return { coupon: known }
    return pTimeout(assignOnce(name, projectId, poolId, profileId), {
      milliseconds: DEADLINE_MS,
      fallback: () => UNAVAILABLE,
    })
  }
}

export type GiveCoupon = ReturnType<typeof createGiveCoupon>

const UNAVAILABLE: CouponAnswer = { coupon: null, couponReason: 'unavailable' }
