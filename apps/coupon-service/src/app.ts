import { type Platform, rateLimit, type Service } from '@waymark/service-kit'
import { createGenerateCodes } from './generate-codes.ts'
import { createForgetAnswers } from './idempotency.ts'
import { lookUpRoute } from './look-up-route.ts'
import { createMissLimit } from './miss-limit.ts'
import { createRedeemCoupon } from './redeem-coupon.ts'
import { redeemRoute } from './redeem-route.ts'

const GENERATE_INTERVAL_MS = 500
const FORGET_INTERVAL_MS = 10 * 60_000

/** Redeems and looks up coupons, and generates their pools. */
export const createCouponService = (platform: Platform): Service => {
  const { apiKeys, db, clock, limits, rateLimiter } = platform
  const limitRequests = rateLimit({
    limiter: rateLimiter,
    bucket: 'redeem',
    limitFor: () => limits.redeemPerMinute,
  })
  const missLimit = createMissLimit(rateLimiter, limits.couponMissesPerMinute)
  return {
    routes: [
      redeemRoute({ apiKeys, limitRequests, redeemCoupon: createRedeemCoupon(platform) }),
      lookUpRoute({ apiKeys, db, clock, missLimit }),
    ],
    loops: [
      { name: 'coupon-generation', everyMs: GENERATE_INTERVAL_MS, run: createGenerateCodes(platform) },
      { name: 'idempotency-keys', everyMs: FORGET_INTERVAL_MS, run: createForgetAnswers(db, clock) },
    ],
  }
}
