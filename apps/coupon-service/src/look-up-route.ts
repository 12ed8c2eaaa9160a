import { AppError, lookUpCoupon as operation } from '@waymark/contracts'
import { normalizeCode } from '@waymark/domain'
import { type CorePlatform, keyRoute, type Route } from '@waymark/service-kit'
import { findCoupon, viewCoupon } from './find-coupon.ts'
import type { MissLimit } from './miss-limit.ts'

type Deps = Pick<CorePlatform, 'apiKeys' | 'db' | 'clock'> & { missLimit: MissLimit }

/** The discount of a code, and whether it can be redeemed. */
export const lookUpRoute = ({ apiKeys, db, clock, missLimit }: Deps): Route =>
  keyRoute(operation, { apiKeys }, async ({ apiKey, request: { ip, params } }) => {
    missLimit.requireFewMisses(apiKey, ip)
    const code = normalizeCode(params.code ?? '')
    const coupon = code === undefined ? undefined : await findCoupon(db.pool, apiKey.projectId, code)
    if (!coupon) {
      await missLimit.countMiss(apiKey, ip)
      throw new AppError('not_found', 'Not found')
    }
    return { body: viewCoupon(coupon, clock()) }
  })
