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
      description: 'In upper or lower case, with dashes or without.',
    }),
    userId: optionalId('Who redeems it. Needed where a pool limits redemptions per person.'),
    visitorId: optionalId('Who redeems it, when there is no userId.'),
    orderId: optionalId('The order that it is redeemed for.'),
    amount: Type.Optional(
      Type.Unsafe<number | null>({
        type: ['integer', 'null'],
        minimum: 0,
        maximum: Number.MAX_SAFE_INTEGER,
        description: 'The amount of the order, in minor units of the currency, which it needs beside it.',
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
      'The id of your own event that it belongs to, such as the order. The `coupon_redeemed` event keeps it as ' +
        '`properties.relatedEventId`; its own id is `wm:redemption:<id>`.',
    ),
    metadata: Type.Optional(
      Type.Unsafe<Record<string, unknown> | null>({
        type: ['object', 'null'],
        description: 'Anything else, kept with the redemption. At most 4 KiB and 5 levels.',
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
      description: 'Null for a `pub` key, which could tell by it who is whom.',
    }),
    visitorId: NullableString,
    userId: NullableString,
    orderId: NullableString,
    amount: Type.Unsafe<number | null>({ type: ['integer', 'null'] }),
    currency: NullableString,
    metadata: JsonObject,
    eventId: Type.String({ description: 'The `coupon_redeemed` event.' }),
    relatedEventId: Type.Unsafe<string | null>({
      type: ['string', 'null'],
      description: 'The `eventId` of the request.',
    }),
    redeemedAt: Timestamp,
  }),
})

const notFound = { description: 'There is no such coupon in the project', schema: ErrorBody }
const tag = 'Coupons'

export const redeemCoupon = defineOperation({
  id: 'redeemCoupon',
  method: 'post',
  path: '/api/v1/coupons/redeem',
  tag,
  summary: 'Redeem a coupon',
  description:
    'Whatever is asked at the same time, a coupon is redeemed once, and limits per person and pool hold. The redemption ' +
    'becomes an event `coupon_redeemed`, which metering selectors may make a conversion. With an `Idempotency-Key` the ' +
    'same request gets the same answer for at least 24 hours, marked `Idempotent-Replayed: true`, refusals included; ' +
    'another body with the same key is 422; white space and the order of members do not count. What was answered 400, 404, `pool_not_ready` or 5xx is tried anew.',
  access: { by: 'key', scope: 'coupons:redeem' },
  forPrograms: true,
  limited: true,
  headers: { 'Idempotency-Key': 'Up to 255 printable characters of your own, unique per redemption.' },
  body: RedeemRequest,
  answers: {
    200: { description: 'Redeemed', schema: RedeemResult },
    400: {
      description:
        'Not JSON, a field is missing, wrong or unknown, an amount without a currency, or the pool limits redemptions ' +
        'per person and none is named',
      schema: ErrorBody,
    },
    404: notFound,
    409: {
      description:
        'It cannot be redeemed. Of several reasons the first in this order: `pool_not_ready` (no codes yet, or before its ' +
        'start), `revoked`, `expired` (or its pool was archived), `already_redeemed` (or a limit was reached, or it is ' +
        'somebody else’s)',
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
    'Looking up is not limited, but guessing is: after 30 codes in a minute that do not exist, everything is answered 429.',
  access: { by: 'key', scope: 'coupons:read' },
  limited: true,
  answers: { 200: { description: 'The coupon', schema: CouponLookup }, 404: notFound },
})

export const couponOperations = [redeemCoupon, lookUpCoupon]
