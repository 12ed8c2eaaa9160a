import type { ApiKeyKind } from '@waymark/contracts/api-key'
import { AppError } from '@waymark/contracts/app-error'
import { currencyOf } from '@waymark/contracts/currency'
import { MAX_CART_BODY_BYTES, qualifyRequest } from '@waymark/contracts/http/cart'
import { qualifyPromotions as operation } from '@waymark/contracts/http/promotions'
import { requireValid } from '@waymark/contracts/require-valid'
import { type CorePlatform, keyRoute, type LimitRequests, type Route } from '@waymark/service-kit'
import type { CartRequest } from './cart-request.ts'
import type { createHolds } from './hold-cart.ts'
import { holderOf, parseHold } from './hold-routes.ts'
import type { MissLimit } from './miss-limit.ts'
import type { createQualifyCart } from './qualify-cart.ts'
import { requireCountable } from './redeem-route.ts'

type Deps = {
  apiKeys: CorePlatform['apiKeys']
  /** Holds are limited like redemptions. */
  limitRequests: LimitRequests
  missLimit: MissLimit
  qualifyCart: ReturnType<typeof createQualifyCart>
  holds: ReturnType<typeof createHolds>
}

/** The promotions and codes that apply to a cart, of which the best are held on request. A code that does not exist counts as a failed look-up. */
export const qualifyRoute = ({ apiKeys, limitRequests, missLimit, qualifyCart, holds }: Deps): Route =>
  keyRoute(
    operation,
    { apiKeys, maxBodyBytes: MAX_CART_BODY_BYTES },
    async ({ apiKey, request: httpRequest, body }) => {
      const { ip } = httpRequest
      const request = parseQualify(body.value)
      // A page could ask for every user id that it guesses, and learn from the promotions who they are for.
      if (apiKey.kind === 'pub' && request.userId !== null)
        throw new AppError(
          'bad_request',
          'userId is not allowed with a public key: send the visitorId, which identify links to the user',
        )
      const { codes, hold: seconds } = request
      requireSpendable(request, apiKey.kind)
      const holder = seconds === null ? undefined : holderOf(apiKey)
      if (holder) await limitRequests(apiKey, httpRequest)
      const compute = (replacedId: string | null = null) =>
        qualifyCart(apiKey.projectId, request, replacedId, apiKey.kind)
      const qualify = async () =>
        seconds !== null && holder
          ? holds.hold(holder, { ...request, seconds }, compute)
          : (await compute()).answer
      if (codes.length === 0) return { body: await qualify() }
      const result = await missLimit.lookUp({ apiKey, ip, codes: codes.length }, async () => {
        const found = await qualify()
        return { found, misses: found.codes.filter(({ reason }) => reason === 'not_found').length }
      })
      return { body: result }
    },
  )

/** @throws AppError bad_request when a request may not ask for points */
const requireSpendable = ({ points, hold, userId, visitorId }: CartRequest, keyKind: ApiKeyKind): void => {
  if (points === null) return
  if (keyKind === 'pub') throw new AppError('bad_request', 'points is not allowed with a public key')
  if (hold !== null)
    throw new AppError('bad_request', 'points cannot be combined with hold: they are not reserved')
  if (userId === null && visitorId === null)
    throw new AppError('bad_request', 'userId or visitorId is required beside points: whose they are')
}

/** Reads the body of a request to qualify a cart. @throws AppError bad_request */
export const parseQualify = (body: unknown): CartRequest => {
  const { currency, items, shippingAmount = 0, ...request } = requireValid(qualifyRequest, body)
  return {
    codes: request.codes ?? [],
    userId: request.userId ?? null,
    visitorId: request.visitorId ?? null,
    points: request.points
      ? { programme: request.points.programme, wanted: request.points.points ?? null }
      : null,
    ...parseHold(request),
    cart: requireCountable({ currency: currencyOf(currency) ?? '', items, shippingAmount }),
  }
}
