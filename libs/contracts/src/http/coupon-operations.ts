import { type Static, Type } from 'typebox'
import { type CartRefusal, type CouponRefusal, cartRefusals, couponRefusals } from '../coupon.ts'
import { CURRENCY_DESCRIPTION } from '../currency.ts'
import { type PointRefusal, pointRefusals } from '../loyalty.ts'
import { Id, JsonObject, NullableString, Timestamp } from '../schema-parts.ts'
import { compileValidator } from '../validator.ts'
import {
  CartCode,
  CartCodes,
  CartItems,
  DiscountedItems,
  holdTerms,
  MAX_CART_PROMOTIONS,
  Payments,
  ShippingAmount,
  SpentPoints,
  ValidateRequest,
} from './cart.ts'
import { CouponLookup } from './coupon-views.ts'
import { ErrorBody } from './error-bodies.ts'
import { optionalId } from './identify.ts'
import { defineOperation } from './operation.ts'

/** Maximum size of its metadata as compact JSON, in bytes, and its nesting. */
export const MAX_COUPON_METADATA_BYTES = 4 * 1024
export const MAX_COUPON_METADATA_DEPTH = 5

const RedeemRequest = Type.Object(
  {
    code: Type.Optional(CartCode),
    codes: CartCodes(
      'Several codes of a cart, instead of `code`, redeemed together or not at all. Requires `items`.',
    ),
    promotions: Type.Optional(
      Type.Array(Id, {
        minItems: 1,
        maxItems: MAX_CART_PROMOTIONS,
        description:
          'The ids of automatic promotions, such as those that `qualify` answers, redeemed together with `codes` or ' +
          'not at all. Requires `items` and `orderId`.',
      }),
    ),
    holdId: Type.Optional(
      Type.String({
        format: 'uuid',
        description:
          'A live hold, instead of codes, promotions, person and cart. All that it holds is redeemed or nothing, and grants ' +
          'what was answered when it was made. `orderId` is required when it holds promotions.',
      }),
    ),
    userId: optionalId('Who redeems it. Needed where a pool limits redemptions per person.'),
    visitorId: optionalId('Who redeems it, when there is no userId.'),
    orderId: optionalId(
      'The order that it is redeemed for. With `items` the discount applies to what earlier redemptions of the ' +
        'order left.',
    ),
    amount: Type.Optional(
      Type.Unsafe<number | null>({
        type: ['integer', 'null'],
        minimum: 0,
        maximum: Number.MAX_SAFE_INTEGER,
        description:
          'The amount of the order in minor units. Requires `currency`. A gift card without `items` pays at most this much.',
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
    items: Type.Optional(CartItems),
    shippingAmount: ShippingAmount,
    points: SpentPoints,
  },
  { additionalProperties: false },
)
export type RedeemRequest = Static<typeof RedeemRequest>
export const redeemRequest = compileValidator(RedeemRequest)

const Redeemed = {
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
    discountAmount: Type.Optional(
      Type.Integer({ description: 'What was granted, in minor units. Present when the request has items.' }),
    ),
    shippingDiscountAmount: Type.Optional(Type.Integer({ description: 'The part of it for the shipping.' })),
    items: Type.Optional(DiscountedItems),
  }),
}
/** A coupon, or an automatic promotion without a code. */
const RedeemedCoupon = Type.Object({
  ...CouponLookup.properties,
  code: Type.Unsafe<string | null>({
    type: ['string', 'null'],
    description: 'Null for an automatic promotion.',
  }),
})
const Payment = Type.Object({
  movementId: Type.Unsafe<string | null>({
    type: ['string', 'null'],
    description: 'The movement of its ledger; null when nothing was left to pay.',
  }),
  code: Type.String(),
  orderId: Type.Unsafe<string | null>({
    type: ['string', 'null'],
    description: 'Null in a repeated answer after an erasure.',
  }),
  amount: Type.Integer({ description: 'What it pays of the order in all, in minor units.' }),
  currency: Type.String(),
  balance: Type.Integer({ description: 'What the gift card holds now.' }),
})
const RedeemResult = Type.Union([
  Type.Object({ ok: Type.Literal(true), ...Redeemed }, { description: 'For `code`.' }),
  Type.Object(
    { ok: Type.Literal(true), coupon: CouponLookup, payment: Payment },
    { description: 'For the `code` of a gift card.' },
  ),
  Type.Object(
    {
      ok: Type.Literal(true),
      discountAmount: Type.Integer({ description: 'The sum of the discounts, in minor units.' }),
      shippingDiscountAmount: Type.Integer({ description: 'The part of it for the shipping.' }),
      // A repeated request gets the stored answer, from which an erasure has removed what was bought.
      items: Type.Optional(DiscountedItems),
      redemptions: Type.Array(Type.Object({ ...Redeemed, coupon: RedeemedCoupon }), {
        description:
          'One for each code, and then for each promotion, in the order of the request. None for gift cards.',
      }),
      payments: Type.Optional(
        Type.Array(Payment, { description: 'One for each gift card, in the order in which they pay.' }),
      ),
      points: Type.Optional(
        Type.Object(
          {
            programme: Type.String(),
            movementId: Type.Unsafe<string | null>({
              type: ['string', 'null'],
              description: 'The movement of its ledger; null when nothing was left to pay.',
            }),
            points: Type.Integer({ description: 'What the order spends.' }),
            amount: Type.Integer({ description: 'What they are worth, in minor units.' }),
            currency: Type.String(),
            balance: Type.Integer({ description: 'The points that the person has now.' }),
          },
          { description: 'When the request spends points.' },
        ),
      ),
      paymentAmount: Type.Optional(Payments.paymentAmount),
      amountDue: Type.Optional(Payments.amountDue),
    },
    {
      description:
        'For `codes`, `promotions`, `points` and `holdId`. A repeat after the person was erased has no `items`.',
    },
  ),
])

const notFound = { description: 'The project has no such coupon, or no such live hold', schema: ErrorBody }
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
    'space and the order of members do not matter. A request that was answered 400, 404, `pool_not_ready`, `held` or ' +
    '5xx is processed again. With `items` the rules of the pool are checked, and the redemption stores the ' +
    'discount that is granted. A pool with rules or a budget needs them. Several `codes` are redeemed together or ' +
    'not at all, and grant what `validate` answers for them. `promotions` are redeemed like codes: with those that ' +
    '`qualify` chose they grant what it answered. Gift cards pay what discounts leave, and need `orderId` and a `sec` key: a ' +
    'card pays an order once, so a repeat of the request takes nothing. `points` are spent on what discounts leave, before gift cards.',
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
        'has a limit or a rule about the person and the request names none, or it has rules or a budget and the ' +
        'request has no items, or the items differ from those that earlier redemptions of the order had',
      schema: ErrorBody,
    },
    404: notFound,
    409: {
      description:
        'The coupon cannot be redeemed. `reason` is the first that applies: `pool_not_ready` (no codes yet, or ' +
        'before its start), `revoked`, `expired` (or its pool is archived), `already_redeemed` (or a limit is ' +
        'reached, or it belongs to another person), `held` (for another cart). With items also the reasons of `validate`. Of ' +
        '`points`: `not_spendable` (the programme is paused or has no rate), `insufficient_points`, `minimum_points`, ' +
        '`order_reversed`, `currency_mismatch`, `secret_key_required`',
      schema: Type.Object({
        error: Type.String(),
        reason: Type.Unsafe<CouponRefusal | CartRefusal | PointRefusal>({
          type: 'string',
          enum: [...new Set([...couponRefusals, ...cartRefusals, ...pointRefusals])],
        }),
        code: Type.Optional(Type.String({ description: 'One of the `codes` that cannot be redeemed.' })),
        promotionId: Type.Optional(
          Type.String({ description: 'One of the `promotions` that cannot be redeemed, instead of `code`.' }),
        ),
      }),
    },
    422: { description: 'The Idempotency-Key belongs to another request', schema: ErrorBody },
  },
})

const REFUSALS = [...couponRefusals, ...cartRefusals, 'not_found', 'duplicate'] as const
export const CodeRefusalSchema = Type.Unsafe<CodeRefusal>({ type: 'string', enum: [...REFUSALS] })
/** Why a code of a cart is not valid. */
export type CodeRefusal = (typeof REFUSALS)[number]

const ValidateResult = Type.Object({
  valid: Type.Boolean({ description: 'Whether every code is valid.' }),
  discountAmount: Type.Integer({
    description: 'The sum of the discounts of all valid codes, in minor units.',
  }),
  shippingDiscountAmount: Type.Integer({
    description: 'The part of it for the shipping. The discounts of the items are the rest.',
  }),
  items: DiscountedItems,
  coupons: Type.Array(
    Type.Object({
      code: Type.String(),
      valid: Type.Boolean(),
      reason: Type.Optional(CodeRefusalSchema),
      message: Type.Optional(Type.String({ description: 'The reason in words.' })),
      discountAmount: Type.Integer(),
    }),
    { description: 'One for each code, in the order of the request.' },
  ),
  ...Payments,
  ...holdTerms,
})

export const validateCoupons = defineOperation({
  id: 'validateCoupons',
  method: 'post',
  path: '/api/v1/coupons/validate',
  tag,
  summary: 'Compute the discount of a cart',
  description:
    'Answers what codes would grant for a cart, and changes nothing, unless `hold` reserves them. Discounts of items are rounded half to ' +
    'even; what is left is on the largest line, so that they always amount to the discount. The result does not ' +
    'depend on the order of items and codes. Codes that are not stackable apply alone: the most favorable ' +
    'combination is valid. Unknown codes are limited as for look-ups: after 30 in a minute every request gets 429.',
  access: { by: 'key', scope: 'coupons:read', orScope: 'coupons:redeem' },
  forPrograms: true,
  limited: true,
  body: ValidateRequest,
  answers: {
    200: { description: 'The discounts, also when no code is valid', schema: ValidateResult },
    400: {
      description:
        'The body is not JSON, a field is missing, invalid or unknown, the cart exceeds a limit, or a `pub` key may not ' +
        'hold the codes',
      schema: ErrorBody,
    },
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

export const couponOperations = [redeemCoupon, validateCoupons, lookUpCoupon]
