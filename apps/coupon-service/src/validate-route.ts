import { currencyOf } from '@waymark/contracts/currency'
import { MAX_CART_BODY_BYTES, validateRequest } from '@waymark/contracts/http/cart'
import { validateCoupons as operation } from '@waymark/contracts/http/coupon-operations'
import { requireValid } from '@waymark/contracts/require-valid'
import { type CorePlatform, keyRoute, type LimitRequests, type Route } from '@waymark/service-kit'
import type { CartRequest } from './cart-request.ts'
import type { createHolds } from './hold-cart.ts'
import { holderOf, parseHold } from './hold-routes.ts'
import type { MissLimit } from './miss-limit.ts'
import { requireCodes, requireCountable } from './redeem-route.ts'
import type { createValidateCart } from './validate-cart.ts'

type Deps = {
  apiKeys: CorePlatform['apiKeys']
  /** Holds are limited like redemptions. */
  limitRequests: LimitRequests
  missLimit: MissLimit
  validateCart: ReturnType<typeof createValidateCart>
  holds: ReturnType<typeof createHolds>
}

/** What codes grant for a cart, which is held on request. A code that does not exist counts as a failed look-up. */
export const validateRoute = ({ apiKeys, limitRequests, missLimit, validateCart, holds }: Deps): Route =>
  keyRoute(operation, { apiKeys, maxBodyBytes: MAX_CART_BODY_BYTES }, async ({ apiKey, request, body }) => {
    const { ip } = request
    const cart = parseCart(body.value)
    const { hold: seconds } = cart
    const holder = seconds === null ? undefined : holderOf(apiKey)
    if (holder) await limitRequests(apiKey, request)
    const validate = (replacedId: string | null = null) =>
      validateCart(apiKey.projectId, cart, replacedId, apiKey.kind)
    const result = await missLimit.lookUp({ apiKey, ip, codes: cart.codes.length }, async () => {
      const found =
        seconds !== null && holder
          ? await holds.hold(holder, { ...cart, seconds }, validate)
          : (await validate()).answer
      return { found, misses: found.coupons.filter(({ reason }) => reason === 'not_found').length }
    })
    return { body: result }
  })

/** Reads the body of a request to validate a cart. @throws AppError bad_request */
export const parseCart = (body: unknown): CartRequest => {
  const request = requireValid(validateRequest, body)
  const { items, shippingAmount = 0 } = request
  return {
    codes: requireCodes(request),
    userId: request.userId ?? null,
    visitorId: request.visitorId ?? null,
    points: null,
    ...parseHold(request),
    cart: requireCountable({ currency: currencyOf(request.currency) ?? '', items, shippingAmount }),
  }
}
