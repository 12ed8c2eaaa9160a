import { Type } from 'typebox'
import { CURRENCY_DESCRIPTION } from '../currency.ts'
import { Id, JsonObject, NOT_BLANK, NullableString, Timestamp } from '../schema-parts.ts'
import { compileValidator } from '../validator.ts'
import { CouponLookup, CouponRefusalSchema } from './coupon-views.ts'
import { ErrorBody } from './error-bodies.ts'
import { optionalId } from './identify.ts'
import { defineOperation } from './operation.ts'

/** Maximum size of a request to redeem after decompression, in bytes. */
export const MAX_REDEEM_BODY_BYTES = 16 * 1024
/** Maximum size of its metadata as compact JSON, in bytes, and its nesting. */
export const MAX_COUPON_METADATA_BYTES = 4 * 1024
export const MAX_COUPON_METADATA_DEPTH = 5

const RedeemRequest = Type.Object(
  {
    code: Type.String({
      minLength: 1,
      maxLength: 200,
      ...NOT_BLANK,
      description: 'Case and dashes do not matter.',
    }),
    userId: optionalId('Who redeems it. Needed where a pool limits redemptions per person.'),
    visitorId: optionalId('Who redeems it, when there is no userId.'),
    orderId: optionalId('The order that it is redeemed for.'),
    amount: Type.Optional(
      Type.Unsafe<number | null>({
        type: ['integer', 'null'],
        minimum: 0,
        maximum: Number.MAX_SAFE_INTEGER,
        description: 'The amount of the order in minor units. Requires `currency`.',
      }),
    ),
    currency: Type.Optional(
      Type.Unsafe<string | null>({
        type: ['string', 'null'],
        format: 'currency',
        description: CURRENCY_DESCRIPTION,
      }),
    ),
    eventId: optionalId(
      'The id of your own event, such as the order. The `coupon_redeemed` event contains it as ' +
        '`properties.relatedEventId`; its own id is `wm:redemption:<id>`.',
    ),
    metadata: Type.Optional(
      Type.Unsafe<Record<string, unknown> | null>({
        type: ['object', 'null'],
        description: 'Your own data, stored with the redemption: at most 4 KiB and 5 levels.',
      }),
    ),
  },
  { additionalProperties: false },
)
export const redeemRequest = compileValidator(RedeemRequest)

const RedeemResult = Type.Object({
  ok: Type.Literal(true),
  coupon: CouponLookup,
  redemption: Type.Object({
    id: Id,
    poolId: Id,
    couponId: Id,
    profileId: Type.Unsafe<string | null>({
      type: ['string', 'null'],
      description: 'Null for a `pub` key, because it would link ids of the same person.',
    }),
    visitorId: NullableString,
    userId: NullableString,
    orderId: NullableString,
    amount: Type.Unsafe<number | null>({ type: ['integer', 'null'] }),
    currency: NullableString,
    metadata: JsonObject,
    eventId: Type.String({ description: 'The id of the `coupon_redeemed` event.' }),
    relatedEventId: Type.Unsafe<string | null>({
      type: ['string', 'null'],
      description: 'The `eventId` of the request.',
    }),
    redeemedAt: Timestamp,
  }),
})

const notFound = { description: 'The project has no such coupon', schema: ErrorBody }
const tag = 'Coupons'

export const redeemCoupon = defineOperation({
  id: 'redeemCoupon',
  method: 'post',
  path: '/api/v1/coupons/redeem',
  tag,
  summary: 'Redeem a coupon',
  description:
    'A coupon is redeemed once, and limits per person and pool hold, also for concurrent requests. The ' +
    'redemption creates an event `coupon_redeemed`, which metering selectors can count as a conversion. With ' +
    'an `Idempotency-Key`, a repeat of the request gets the same answer for at least 24 hours, marked ' +
    '`Idempotent-Replayed: true`, also when it was refused. Another body with the same key gets 422; white ' +
    'space and the order of members do not matter. A request that was answered 400, 404, `pool_not_ready` or ' +
    '5xx is processed again.',
  access: { by: 'key', scope: 'coupons:redeem' },
  forPrograms: true,
  limited: true,
  headers: { 'Idempotency-Key': 'Up to 255 printable characters of your own, unique per redemption.' },
  body: RedeemRequest,
  answers: {
    200: { description: 'Redeemed', schema: RedeemResult },
    400: {
      description:
        'The body is not JSON, a field is missing, invalid or unknown, an amount has no currency, or the pool ' +
        'limits redemptions per person and the request names none',
      schema: ErrorBody,
    },
    404: notFound,
    409: {
      description:
        'The coupon cannot be redeemed. `reason` is the first that applies: `pool_not_ready` (no codes yet, or ' +
        'before its start), `revoked`, `expired` (or its pool is archived), `already_redeemed` (or a limit is ' +
        'reached, or it belongs to another person)',
      schema: Type.Object({ error: Type.String(), reason: CouponRefusalSchema }),
    },
    422: { description: 'The Idempotency-Key belongs to another request', schema: ErrorBody },
  },
})

export const lookUpCoupon = defineOperation({
  id: 'lookUpCoupon',
  method: 'get',
  path: '/api/v1/coupons/{code}',
  tag,
  summary: 'Read a coupon by its code',
  description:
    'Only failed look-ups are limited: after 30 unknown codes in a minute, every look-up gets 429.',
  access: { by: 'key', scope: 'coupons:read' },
  limited: true,
  answers: { 200: { description: 'The coupon', schema: CouponLookup }, 404: notFound },
})

export const couponOperations = [redeemCoupon, lookUpCoupon]
