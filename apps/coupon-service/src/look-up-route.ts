import { AppError, lookUpCoupon as operation } from '@waymark/contracts'
import { clientNetworkOf, normalizeCode } from '@waymark/domain'
import { apiKeyOf, keyRoute, type Platform, type Route } from '@waymark/service-kit'
import { lookupOf } from './coupon-lookup.ts'
import { findCoupon } from './find-coupon.ts'
import type { MissLimit } from './miss-limit.ts'

type Deps = Pick<Platform, 'apiKeys' | 'db' | 'clock'> & { missLimit: MissLimit }

/** What a code is worth, and what redeeming it would meet. */
export const lookUpRoute = ({ apiKeys, db, clock, missLimit }: Deps): Route =>
  keyRoute(operation, { apiKeys }, async (req, res) => {
    const { projectId } = apiKeyOf(res)
    const client = `${projectId}:${clientNetworkOf(req.ip ?? '')}`
    missLimit.requireFewMisses(client)
    const code = normalizeCode(`${req.params.code}`)
    const coupon = code === undefined ? undefined : await findCoupon(db.pool, projectId, code)
    if (!coupon) {
      await missLimit.countMiss(client)
      throw new AppError('not_found', 'Not found')
    }
    res.json(lookupOf(coupon, clock()))
  })
