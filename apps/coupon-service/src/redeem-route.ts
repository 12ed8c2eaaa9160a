import { MAX_REDEEM_BODY_BYTES, redeemCoupon as operation } from '@waymark/contracts'
import { apiKeyOf, bodyOf, keyRoute, type Platform, type Route } from '@waymark/service-kit'
import type { Request, RequestHandler, Response } from 'express'
import type { createRedeemCoupon, Redeemer } from './redeem-coupon.ts'
import { parseIdempotencyKey, parseRedeem } from './redeem-request.ts'

type Deps = {
  apiKeys: Platform['apiKeys']
  limitRequests: RequestHandler
  redeemCoupon: ReturnType<typeof createRedeemCoupon>
}

/** 200 when the coupon is redeemed, 409 with the reason when it is not. */
export const redeemRoute = ({ redeemCoupon, ...deps }: Deps): Route =>
  keyRoute(operation, { ...deps, maxBodyBytes: MAX_REDEEM_BODY_BYTES }, async (req, res) => {
    const { value, digest } = bodyOf(req)
    const key = parseIdempotencyKey(req.get('Idempotency-Key'))
    const request = parseRedeem(value)
    const idempotency = key === undefined ? undefined : { key, requestHash: digest() }
    const { status, body, replayed } = await redeemCoupon(redeemerOf(req, res), request, idempotency)
    if (replayed) res.set('Idempotent-Replayed', 'true')
    res.status(status).type('json').send(body)
  })

/** Only a browser redeems for itself; whose device stands behind a server, nobody knows. */
const redeemerOf = (req: Request, res: Response): Redeemer => {
  const { projectId, kind } = apiKeyOf(res)
  const device =
    kind === 'pub'
      ? { ip: req.ip ?? null, userAgent: req.get('User-Agent') ?? null }
      : { ip: null, userAgent: null }
  return { projectId, device }
}
