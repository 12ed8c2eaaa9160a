import { currencyOf } from '@waymark/contracts/currency'
import { MAX_CART_BODY_BYTES, validateRequest } from '@waymark/contracts/http/cart'
import { validateCoupons as operation } from '@waymark/contracts/http/coupon-operations'
import { requireValid } from '@waymark/contracts/require-valid'
import { type CorePlatform, keyRoute, type Route } from '@waymark/service-kit'
import type { MissLimit } from './miss-limit.ts'
import { requireCodes, requireCountable } from './redeem-route.ts'
import type { CartRequest, createValidateCart } from './validate-cart.ts'

type Deps = {
  apiKeys: CorePlatform['apiKeys']
  missLimit: MissLimit
  validateCart: ReturnType<typeof createValidateCart>
}

/** What codes grant for a cart. A code that does not exist counts as a failed look-up. */
export const validateRoute = ({ apiKeys, missLimit, validateCart }: Deps): Route =>
  keyRoute(
    operation,
    { apiKeys, maxBodyBytes: MAX_CART_BODY_BYTES },
    async ({ apiKey, request: { ip }, body }) => {
      const cart = parseCart(body.value)
      const result = await missLimit.lookUp({ apiKey, ip, codes: cart.codes.length }, async () => {
        const found = await validateCart(apiKey.projectId, cart)
        return { found, misses: found.coupons.filter(({ reason }) => reason === 'not_found').length }
      })
      return { body: result }
    },
  )

/** Reads the body of a request to validate a cart. @throws AppError bad_request */
export const parseCart = (body: unknown): CartRequest => {
  const request = requireValid(validateRequest, body)
  const { items, shippingAmount = 0 } = request
  return {
    codes: requireCodes(request),
    userId: request.userId ?? null,
    visitorId: request.visitorId ?? null,
    cart: requireCountable({ currency: currencyOf(request.currency) ?? '', items, shippingAmount }),
  }
}
