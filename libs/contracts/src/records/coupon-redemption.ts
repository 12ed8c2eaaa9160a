import { type Static, Type } from 'typebox'
import { Id, JsonObject, NullableString, Timestamp } from '../schema-parts.ts'

/** `coupons.redeemed.v1`: a redemption or its rollback. Records of one coupon keep their order. */
export const CouponRedemptionRecord = Type.Object({
  v: Type.Literal(1),
  /** A newer version may write others, which are delivered to webhooks like these. */
  kind: Type.Unsafe<'redeemed' | 'rolled_back' | 'partially_rolled_back'>({ type: 'string' }),
  projectId: Id,
  redemptionId: Id,
  couponId: Id,
  poolId: Id,
  /** Null for an automatic promotion, whose `couponId` is the id of its pool. */
  code: NullableString,
  discount: JsonObject,
  profileId: NullableString,
  visitorId: NullableString,
  userId: NullableString,
  orderId: NullableString,
  /** In minor units of the currency. */
  amount: Type.Unsafe<number | null>({ type: ['integer', 'null'] }),
  currency: NullableString,
  /** What was granted, and the part of it for the shipping; absent when it was redeemed without items. */
  discountAmount: Type.Optional(Type.Integer()),
  shippingDiscountAmount: Type.Optional(Type.Integer()),
  /** The part of the discount that is rolled back in all; only of a rollback. */
  rolledBackAmount: Type.Optional(Type.Integer()),
  metadata: JsonObject,
  /** The id of its event in `events.enriched.v1`. */
  eventId: Type.String(),
  /** When it was redeemed or rolled back. */
  at: Timestamp,
})
export type CouponRedemptionRecord = Static<typeof CouponRedemptionRecord>
