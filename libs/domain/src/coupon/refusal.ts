import type {
  CartRefusal,
  CouponRefusal,
  CouponStatus,
  PoolKind,
  PoolStatus,
} from '@waymark/contracts/coupon'

/** The state that determines whether a coupon can be redeemed. */
export type CouponState = {
  status: CouponStatus
  /** Until when a cart holds it. */
  heldUntil?: Date | null
  pool: {
    kind: PoolKind
    status: PoolStatus
    startsAt: Date | null
    expiresAt: Date | null
    maxRedemptions: number | null
    /** Redemptions and live holds of all its coupons, without rolled-back ones. */
    redeemed: number
  }
}

/**
 * Why a coupon cannot be redeemed at `now` (ms since the epoch): the first reason in the order of the API. `undefined` when
 * it can.
 */
export const refusalOf = (
  { status, heldUntil = null, pool }: CouponState,
  now: number,
): CouponRefusal | undefined => {
  const { startsAt, expiresAt, maxRedemptions } = pool
  if (NOT_READY.has(pool.status) || (startsAt !== null && startsAt.getTime() > now)) return 'pool_not_ready'
  if (status === 'revoked') return 'revoked'
  if (pool.status === 'archived' || (expiresAt !== null && expiresAt.getTime() <= now)) return 'expired'
  if (status === 'redeemed' || (maxRedemptions !== null && pool.redeemed >= maxRedemptions))
    return 'already_redeemed'
  return heldUntil !== null && heldUntil.getTime() > now ? 'held' : undefined
}

const NOT_READY: ReadonlySet<PoolStatus> = new Set<PoolStatus>(['draft', 'generating', 'failed'])

/** The message of each refusal. */
export const refusalMessage: Record<CouponRefusal, string> = {
  pool_not_ready: 'The coupon cannot be redeemed yet',
  revoked: 'The coupon was revoked',
  expired: 'The coupon has expired',
  already_redeemed: 'The coupon has already been redeemed',
  held: 'The coupon is held for another cart',
}

/** The message of each reason for which a coupon does not apply to a cart. */
export const cartRefusalMessage: Record<CartRefusal, string> = {
  currency_mismatch: 'The coupon is for another currency',
  no_eligible_items: 'The coupon applies to no item of the cart',
  minimum_not_reached: 'The items that the coupon applies to do not reach its minimum amount',
  maximum_exceeded: 'The items that the coupon applies to exceed its maximum amount',
  quantity_not_reached: 'The cart has too few of the items that the coupon applies to',
  person_required: 'The coupon has rules about the person: userId or visitorId is required',
  not_first_order: 'The coupon is for a first order',
  condition_not_met: 'The coupon is not for this person',
  not_stackable: 'The coupon cannot be combined with the others',
  budget_exhausted: 'The budget of the coupon does not suffice',
  secret_key_required: 'A gift card pays only with a secret API key: send the cart from your server',
  no_balance: 'The gift card has no balance left',
}
