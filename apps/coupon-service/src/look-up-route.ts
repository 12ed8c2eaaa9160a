import { AppError } from '@waymark/contracts/app-error'
import { lookUpCoupon as operation } from '@waymark/contracts/http/coupon-operations'
import { normalizeCode } from '@waymark/domain/coupon'
import { type CorePlatform, keyRoute, type Route } from '@waymark/service-kit'
import type { MissLimit } from './miss-limit.ts'
import { findCoupon, viewCoupon } from './redeemable-coupon-queries.ts'

type Deps = Pick<CorePlatform, 'apiKeys' | 'db' | 'clock'> & { missLimit: MissLimit }

/** The discount of a code, and whether it can be redeemed. */
export const lookUpRoute = ({ apiKeys, db, clock, missLimit }: Deps): Route =>
  keyRoute(operation, { apiKeys }, async ({ apiKey, request: { ip, params } }) => {
    const code = normalizeCode(params.code ?? '')
    const now = clock()
    const coupon = await missLimit.lookUp({ apiKey, ip, codes: 1 }, async () => {
      const found =
        code === undefined
          ? undefined
          : await findCoupon(db.pool, apiKey.projectId, code, { at: new Date(now) })
      return { found, misses: found ? 0 : 1 }
    })
    if (!coupon) throw new AppError('not_found', 'Not found')
    return { body: viewCoupon(coupon, now, apiKey.kind === 'sec') }
  })
