import { MAX_REDEEM_BODY_BYTES, redeemCoupon as operation } from '@waymark/contracts'
import {
  directKeyRoute,
  type KeyCall,
  type LimitRequests,
  type Platform,
  type Route,
} from '@waymark/service-kit'
import type { createRedeemCoupon, Redeemer } from './redeem-coupon.ts'
import { parseIdempotencyKey, parseRedeem } from './redeem-request.ts'

type Deps = {
  apiKeys: Platform['apiKeys']
  limitRequests: LimitRequests
  redeemCoupon: ReturnType<typeof createRedeemCoupon>
}

/** 200 when the coupon is redeemed, 409 with the reason when it is not. */
export const redeemRoute = ({ redeemCoupon, ...deps }: Deps): Route =>
  directKeyRoute(operation, { ...deps, maxBodyBytes: MAX_REDEEM_BODY_BYTES }, async (call) => {
    const { value, digest } = call.body
    const given = call.req.headers['idempotency-key']
    const key = parseIdempotencyKey(given === undefined ? undefined : String(given))
    const request = parseRedeem(value)
    const idempotency = key === undefined ? undefined : { key, requestHash: digest() }
    const { status, body, replayed } = await redeemCoupon(redeemerOf(call), request, idempotency)
    return { status, json: body, ...(replayed && { headers: ['Idempotent-Replayed', 'true'] }) }
  })

/** Only a browser redeems for itself; whose device stands behind a server, nobody knows. */
const redeemerOf = ({ apiKey: { projectId, kind }, ip, req }: KeyCall): Redeemer => {
  const device =
    kind === 'pub'
      ? { ip: ip === '' ? null : ip, userAgent: req.headers['user-agent'] ?? null }
      : { ip: null, userAgent: null }
  return { projectId, device }
}
