import { hash } from 'node:crypto'
import { MAX_REDEEM_BODY_BYTES, redeemCoupon as operation } from '@waymark/contracts'
import { canonicalJson } from '@waymark/domain'
import {
  type CorePlatform,
  type KeyCall,
  keyRoute,
  type LimitRequests,
  type Route,
} from '@waymark/service-kit'
import type { createRedeemCoupon, Redeemer } from './redeem-coupon.ts'
import { parseIdempotencyKey, parseRedeem } from './redeem-request.ts'

type Deps = {
  apiKeys: CorePlatform['apiKeys']
  limitRequests: LimitRequests
  redeemCoupon: ReturnType<typeof createRedeemCoupon>
}

/** 200 when the coupon is redeemed, 409 with the reason when it is not. */
export const redeemRoute = ({ redeemCoupon, ...deps }: Deps): Route =>
  keyRoute(operation, { ...deps, maxBodyBytes: MAX_REDEEM_BODY_BYTES }, async (call) => {
    const { value } = call.body
    const given = call.request.headers['idempotency-key']
    const key = parseIdempotencyKey(given === undefined ? undefined : String(given))
    const request = parseRedeem(value)
    const idempotency =
      key === undefined ? undefined : { key, requestHash: hash('sha256', canonicalJson(value), 'base64url') }
    const { status, body, replayed } = await redeemCoupon(redeemerOf(call), request, idempotency)
    return {
      status,
      body,
      type: 'application/json; charset=utf-8',
      ...(replayed && { headers: { 'Idempotent-Replayed': 'true' } }),
    }
  })

/** The device is known only for browsers, which use public keys. */
const redeemerOf = ({ apiKey: { projectId, kind }, request: { ip, headers } }: KeyCall): Redeemer => {
  const device =
    kind === 'pub'
      ? { ip: ip === '' ? null : ip, userAgent: headers['user-agent'] ?? null }
      : { ip: null, userAgent: null }
  return { projectId, device, hidesProfile: kind === 'pub' }
}
