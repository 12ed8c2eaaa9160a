import { type CorePlatform, drain, limiterBySize, rateLimit, type Service } from '@waymark/service-kit'
import { Router } from 'express'
import { createGenerateCodes } from './generate-codes.ts'
import { createForgetAnswers } from './idempotency-queries.ts'
import { lookUpRoute } from './look-up-route.ts'
import { createMissLimit } from './miss-limit.ts'
import { createQualifyCart } from './qualify-cart.ts'
import { qualifyRoute } from './qualify-route.ts'
import { createRedeemCoupon } from './redeem-coupon.ts'
import { redeemRoute } from './redeem-route.ts'
import { createValidateCart } from './validate-cart.ts'
import { validateRoute } from './validate-route.ts'

const GENERATE_INTERVAL_MS = 500
const FORGET_INTERVAL_MS = 10 * 60_000

/** Redeems, validates and looks up coupons, qualifies carts for promotions, and generates the codes of pools. */
export const createCouponService = (platform: CorePlatform): Service => {
  const { apiKeys, db, clock, limits, rateLimiter } = platform
  const limitRequests = rateLimit({
    limiter: limiterBySize(platform),
    bucket: 'redeem',
    limitFor: () => ({ perMinute: limits.redeemPerMinute, setting: 'LIMIT_REDEEM_PER_MINUTE' }),
    perKey: true,
  })
  const missLimit = createMissLimit(rateLimiter, {
    perMinute: limits.couponMissesPerMinute,
    setting: 'LIMIT_COUPON_MISSES_PER_MINUTE',
  })
  return {
    router: Router(),
    routes: [
      redeemRoute({ apiKeys, limitRequests, redeemCoupon: createRedeemCoupon(platform) }),
      validateRoute({ apiKeys, missLimit, validateCart: createValidateCart(platform) }),
      qualifyRoute({ apiKeys, missLimit, qualifyCart: createQualifyCart(platform) }),
      lookUpRoute({ apiKeys, db, clock, missLimit }),
    ],
    loops: [
      drain('coupon-generation', GENERATE_INTERVAL_MS, createGenerateCodes(platform)),
      drain('idempotency-keys', FORGET_INTERVAL_MS, createForgetAnswers(db, clock)),
    ],
  }
}
