import { type Static, Type } from 'typebox'
import type { CardMovementKind } from '../coupon.ts'
import { Id, NullableString, Timestamp } from '../schema-parts.ts'

/**
 * `gift-cards.moved.v1`: a movement of the ledger of gift cards. Records of one card keep their order. The code of a card is
 * money, so that no record has it.
 */
export const CardMovementRecord = Type.Object({
  v: Type.Literal(1),
  /** A newer version may write others, which are delivered to webhooks like these. */
  kind: Type.Unsafe<CardMovementKind>({ type: 'string' }),
  projectId: Id,
  movementId: Id,
  poolId: Id,
  /** The id of the card as a coupon; null when cards are issued or expire together. */
  couponId: NullableString,
  /** The card that a transfer credits. */
  toCouponId: NullableString,
  /** How many cards it debits or credits. */
  cards: Type.Integer(),
  /** What was moved in all, in minor units of the currency. */
  amount: Type.Integer(),
  currency: Type.String(),
  orderId: NullableString,
  profileId: NullableString,
  visitorId: NullableString,
  userId: NullableString,
  at: Timestamp,
})
export type CardMovementRecord = Static<typeof CardMovementRecord>
