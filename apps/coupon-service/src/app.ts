import { createExpirePoints } from '@waymark/pipeline'
import { type CorePlatform, drain, limiterBySize, rateLimit, type Service } from '@waymark/service-kit'
import { Router } from 'express'
import { createExpireCards } from './expire-cards.ts'
import { createGenerateCodes } from './generate-codes.ts'
import { createHolds, createRemoveEndedHolds } from './hold-cart.ts'
import { holdRoutes } from './hold-routes.ts'
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
const REMOVE_HOLDS_INTERVAL_MS = 60_000
const EXPIRE_CARDS_INTERVAL_MS = 60_000
const EXPIRE_POINTS_INTERVAL_MS = 60_000

/**
 * Redeems, holds, validates and looks up coupons, pays orders with gift cards, qualifies carts for promotions, and generates the
 * codes of pools.
 */
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
  const holds = createHolds(platform)
  const removeEndedHolds = createRemoveEndedHolds(platform)
  return {
    router: Router(),
    routes: [
      redeemRoute({ apiKeys, limitRequests, redeemCoupon: createRedeemCoupon(platform) }),
      validateRoute({ apiKeys, limitRequests, missLimit, validateCart: createValidateCart(platform), holds }),
      qualifyRoute({ apiKeys, limitRequests, missLimit, qualifyCart: createQualifyCart(platform), holds }),
      ...holdRoutes({ apiKeys, limitRequests, holds }),
      lookUpRoute({ apiKeys, db, clock, missLimit }),
    ],
    loops: [
      drain('coupon-generation', GENERATE_INTERVAL_MS, createGenerateCodes(platform)),
      drain('idempotency-keys', FORGET_INTERVAL_MS, createForgetAnswers(db, clock)),
      drain('coupon-holds', REMOVE_HOLDS_INTERVAL_MS, () => removeEndedHolds()),
      drain('gift-card-expiry', EXPIRE_CARDS_INTERVAL_MS, createExpireCards(platform)),
      drain('point-expiry', EXPIRE_POINTS_INTERVAL_MS, createExpirePoints(platform)),
    ],
  }
}
