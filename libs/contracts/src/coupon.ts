/**
 * A pool holds many codes for one redemption each, one code for many, none: then it applies by itself, or gift cards, whose
 * balance pays for orders.
 */
export const poolKinds = ['unique', 'shared', 'automatic', 'balance'] as const
export type PoolKind = (typeof poolKinds)[number]

/** `draft` has no codes yet; one that is topped up stays `ready`. */
export const poolStatuses = ['draft', 'generating', 'ready', 'archived', 'failed'] as const
export type PoolStatus = (typeof poolStatuses)[number]

/** What is stored of a coupon; that it has expired follows from its pool. */
export const couponStatuses = ['available', 'assigned', 'redeemed', 'revoked'] as const
export type CouponStatus = (typeof couponStatuses)[number]

/** Why a coupon that exists is not redeemed, the first that applies. */
export const couponRefusals = ['pool_not_ready', 'revoked', 'expired', 'already_redeemed', 'held'] as const
export type CouponRefusal = (typeof couponRefusals)[number]

/** Why a coupon does not apply to a cart, in the order in which they are checked. */
export const cartRefusals = [
  'currency_mismatch',
  'no_eligible_items',
  'minimum_not_reached',
  'maximum_exceeded',
  'quantity_not_reached',
  'person_required',
  'not_first_order',
  'condition_not_met',
  'not_stackable',
  'budget_exhausted',
  'secret_key_required',
  'no_balance',
] as const
export type CartRefusal = (typeof cartRefusals)[number]

/** What moves the money of gift cards. */
export const cardMovementKinds = [
  'issued',
  'topped_up',
  'spent',
  'refunded',
  'transferred',
  'expired',
] as const
export type CardMovementKind = (typeof cardMovementKinds)[number]

/** The most that a gift card holds, in minor units. The schema of the database has it too. */
export const MAX_CARD_BALANCE = 100_000_000_000
