import { hash } from 'node:crypto'
import { AppError } from '@waymark/contracts/app-error'
import { currencyOf } from '@waymark/contracts/currency'
import { MAX_CART_BODY_BYTES } from '@waymark/contracts/http/cart'
import {
  MAX_COUPON_METADATA_BYTES,
  MAX_COUPON_METADATA_DEPTH,
  redeemCoupon as operation,
  type RedeemRequest,
  redeemRequest,
} from '@waymark/contracts/http/coupon-operations'
import { requireValid } from '@waymark/contracts/require-valid'
import { type Cart, isCountable, normalizeCode } from '@waymark/domain/coupon'
import { canonicalJson, isDeeperThan } from '@waymark/domain/json'
import {
  type CorePlatform,
  type KeyCall,
  keyRoute,
  type LimitRequests,
  type Route,
} from '@waymark/service-kit'
import type { createRedeemCoupon, Redeemer } from './redeem-coupon.ts'
import type { Redeem } from './redemption-queries.ts'

type Deps = {
  apiKeys: CorePlatform['apiKeys']
  limitRequests: LimitRequests
  redeemCoupon: ReturnType<typeof createRedeemCoupon>
}

/** 200 when the coupon is redeemed, 409 with the reason when it is not. */
export const redeemRoute = ({ redeemCoupon, ...deps }: Deps): Route =>
  keyRoute(operation, { ...deps, maxBodyBytes: MAX_CART_BODY_BYTES }, async (call) => {
    const { value } = call.body
    const given = call.request.headers['idempotency-key']
    const key = parseIdempotencyKey(given === undefined ? undefined : String(given))
    const request = parseRedeem(value)
    const idempotency =
      key === undefined
        ? undefined
        : {
            key,
            keyKind: call.apiKey.kind,
            requestHash: hash('sha256', canonicalJson(value), 'base64url'),
          }
    const { status, body, replayed } = await redeemCoupon(redeemerOf(call), request, idempotency)
    return {
      status,
      body,
      type: 'application/json; charset=utf-8',
      ...(replayed && { headers: { 'Idempotent-Replayed': 'true' } }),
    }
  })

/** The device is known only for browsers and apps, which use public keys. */
const redeemerOf = ({ apiKey: { projectId, kind }, request: { ip, headers } }: KeyCall): Redeemer => {
  const isApp = headers.origin === undefined
  const device =
    kind === 'pub'
      ? {
          ip: ip === '' ? null : ip,
          userAgent: headers['user-agent'] ?? null,
          ...(isApp && { isApp: true as const }),
        }
      : { ip: null, userAgent: null }
  return { projectId, device, hidesProfile: kind === 'pub' }
}

/** Reads the body of a request to redeem. @throws AppError bad_request */
export const parseRedeem = (body: unknown): Redeem => {
  const request = requireValid(redeemRequest, body)
  const amount = request.amount ?? null
  const currency = currencyOf(request.currency ?? '') ?? null
  if (amount !== null && currency === null)
    throw new AppError('bad_request', 'currency is required beside amount, such as EUR')
  const metadata = request.metadata ?? {}
  if (isDeeperThan(metadata, MAX_COUPON_METADATA_DEPTH))
    throw new AppError('bad_request', `metadata is nested deeper than ${MAX_COUPON_METADATA_DEPTH} levels`)
  const bytes = Buffer.byteLength(JSON.stringify(metadata))
  if (bytes > MAX_COUPON_METADATA_BYTES)
    throw new AppError(
      'bad_request',
      `metadata takes ${bytes} bytes; ${MAX_COUPON_METADATA_BYTES} are allowed`,
    )
  const holdId = parseHoldId(request)
  return {
    holdId,
    ...(holdId === null ? parseCodes(request) : { codes: [], isList: true }),
    promotions: parsePromotions(request),
    visitorId: request.visitorId ?? null,
    userId: request.userId ?? null,
    orderId: request.orderId ?? null,
    amount,
    currency,
    eventId: request.eventId ?? null,
    metadata,
    cart: parseRedeemedCart(request, currency),
    points: parsePoints(request),
  }
}

/** The fields that a hold says. */
const OF_HOLD = [
  'code',
  'codes',
  'promotions',
  'userId',
  'visitorId',
  'items',
  'shippingAmount',
  'points',
] as const

/** The hold to redeem, if any. @throws AppError bad_request beside what the hold says */
const parseHoldId = (request: RedeemRequest): string | null => {
  const { holdId } = request
  if (holdId === undefined) return null
  const second = OF_HOLD.find((field) => (request[field] ?? undefined) !== undefined)
  if (second !== undefined)
    throw new AppError(
      'bad_request',
      second === 'points'
        ? 'points is not allowed beside holdId: spend them by another request for the order'
        : `${second} is not allowed beside holdId: it is that of the hold`,
    )
  return holdId.toLowerCase()
}

const parseCodes = (request: RedeemRequest): Pick<Redeem, 'codes' | 'isList'> => {
  const isWithoutCode =
    (request.promotions !== undefined || request.points !== undefined) && request.code === undefined
  const texts = isWithoutCode ? (request.codes ?? []) : requireCodes(request)
  const codes = texts.map(normalizeCode)
  const second = codes.findIndex((code, index) => code !== undefined && codes.indexOf(code) < index)
  if (second >= 0)
    throw new AppError('bad_request', `codes.${second} occurs twice; each code is allowed once`)
  return { codes, isList: request.code === undefined }
}

/** The points to spend. @throws AppError bad_request without what they require */
const parsePoints = ({ points, code, items, ...request }: RedeemRequest): Redeem['points'] => {
  if (points === undefined) return null
  if (code !== undefined) throw new AppError('bad_request', 'code cannot be combined with points: use codes')
  if ((request.orderId ?? null) === null)
    throw new AppError('bad_request', 'orderId is required beside points: the order that they pay for')
  if ((request.userId ?? request.visitorId ?? null) === null)
    throw new AppError('bad_request', 'userId or visitorId is required beside points: whose they are')
  if (items === undefined && (request.amount ?? null) === null)
    throw new AppError(
      'bad_request',
      'items, or amount and currency, are required beside points: what there is to pay',
    )
  return { programme: points.programme, wanted: points.points ?? null }
}

/** The ids of promotions, in lower case as they are stored. @throws AppError bad_request without what they require */
const parsePromotions = ({ promotions, code, items, orderId }: RedeemRequest): readonly string[] => {
  if (promotions === undefined) return []
  if (code !== undefined)
    throw new AppError('bad_request', 'code cannot be combined with promotions: use codes')
  if (items === undefined || (orderId ?? null) === null)
    throw new AppError('bad_request', 'items, currency and orderId are required beside promotions')
  const ids = promotions.map((id) => id.toLowerCase())
  const second = ids.findIndex((id, index) => ids.indexOf(id) < index)
  if (second >= 0)
    throw new AppError('bad_request', `promotions.${second} occurs twice; each promotion is allowed once`)
  return ids
}

/** The codes of a request. @throws AppError bad_request without codes, and with both kinds */
export const requireCodes = ({ code, codes }: Pick<RedeemRequest, 'code' | 'codes'>): readonly string[] => {
  if ((code === undefined) === (codes === undefined))
    throw new AppError('bad_request', 'Exactly one of code and codes is required')
  return codes ?? [code ?? '']
}

const parseRedeemedCart = (
  { items, shippingAmount, codes }: RedeemRequest,
  currency: string | null,
): Redeem['cart'] => {
  if (items === undefined) {
    if (shippingAmount !== undefined || codes !== undefined)
      throw new AppError('bad_request', 'items is required beside shippingAmount and codes')
    return null
  }
  if (currency === null) throw new AppError('bad_request', 'currency is required beside items, such as EUR')
  return requireCountable({ currency, items, shippingAmount: shippingAmount ?? 0 })
}

/** @throws AppError bad_request when the total of a cart is not a safe integer */
export const requireCountable = (cart: Cart): Cart => {
  if (isCountable(cart)) return cart
  throw new AppError(
    'bad_request',
    `items and shippingAmount amount to more than ${Number.MAX_SAFE_INTEGER}, which is the most that is allowed`,
  )
}

const IDEMPOTENCY_KEY = /^[\x20-\x7e]{1,255}$/

/** Reads the `Idempotency-Key` header. @throws AppError bad_request when it is not 1 to 255 printable characters */
const parseIdempotencyKey = (header: string | undefined): string | undefined => {
  if (header === undefined || IDEMPOTENCY_KEY.test(header)) return header
  throw new AppError('bad_request', 'The Idempotency-Key must be 1 to 255 printable ASCII characters')
}
