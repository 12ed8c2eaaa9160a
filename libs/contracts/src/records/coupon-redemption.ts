import { type Static, Type } from 'typebox'
import { Id, JsonObject, NullableString, Timestamp } from '../schema-parts.ts'

/** `coupons.redeemed.v1`: a redemption or its rollback. Records of one coupon keep their order. */
export const CouponRedemptionRecord = Type.Object({
  v: Type.Literal(1),
  kind: Type.Unsafe<'redeemed' | 'rolled_back'>({ type: 'string', enum: ['redeemed', 'rolled_back'] }),
  projectId: Id,
  redemptionId: Id,
  couponId: Id,
  poolId: Id,
  code: Type.String(),
  discount: JsonObject,
  profileId: NullableString,
  visitorId: NullableString,
  userId: NullableString,
  orderId: NullableString,
  /** In minor units of the currency. */
  amount: Type.Unsafe<number | null>({ type: ['integer', 'null'] }),
  currency: NullableString,
  metadata: JsonObject,
  /** The id of its event in `events.enriched.v1`. */
  eventId: Type.String(),
  /** When it was redeemed or rolled back. */
  at: Timestamp,
})
export type CouponRedemptionRecord = Static<typeof CouponRedemptionRecord>
