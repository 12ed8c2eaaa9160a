import { findOrderPayments, findOrderSpending } from '@waymark/pipeline'
import type { ClientBase, Pool } from 'pg'
import type { Wanted } from './cart-outcome.ts'
import type { CardPayment } from './cart-payments.ts'
import { HOLD_NOT_FOUND } from './hold-cart.ts'
import {
  findHold,
  type HeldCoupon,
  type Hold,
  type HoldRef,
  returnToPool,
  returnToProfile,
} from './hold-queries.ts'
import { type Answer, provisional } from './idempotency-queries.ts'
import { findHeldCoupons, isGiftCard } from './redeemable-coupon-queries.ts'
import { lockOrder, type Redeem } from './redemption-queries.ts'

/**
 * A hold that is redeemed, with its coupons and what they grant, in the order of the request, and its gift cards and what they
 * pay.
 */
export type Held = { hold: Hold; coupons: readonly HeldCoupon[]; wanted: Wanted[]; payments: CardPayment[] }

/** The answer for a hold that is not live. */
export const HOLD_ENDED = provisional(404, { error: HOLD_NOT_FOUND })

/** A hold that is live at `at`, with its coupons; undefined when there is none. */
export const findHeld = async (db: Pool | ClientBase, ref: HoldRef, at: Date): Promise<Held | undefined> => {
  const found = await findHold(db, ref, at)
  if (!found) return undefined
  const { hold, coupons } = found
  const ids = coupons.map(({ couponId }) => couponId)
  const known = await findHeldCoupons(db, ref.projectId, ids, { at, replacedId: hold.id })
  const byId = new Map(known.map((coupon) => [coupon.id, coupon]))
  const wanted = coupons.flatMap((held): Wanted[] => {
    const coupon = byId.get(held.couponId)
    return coupon && !isGiftCard(coupon) ? [{ coupon, outcome: { granted: grantedBy(hold, held) } }] : []
  })
  const payments = coupons.flatMap(({ couponId, payment }): CardPayment[] => {
    const coupon = byId.get(couponId)
    return coupon && isGiftCard(coupon) ? [{ coupon, amount: payment ?? 0 }] : []
  })
  return wanted.length + payments.length === ids.length ? { hold, coupons, wanted, payments } : undefined
}

const grantedBy = ({ cart }: Hold, { grant }: HeldCoupon) => ({
  discountAmount: grant.discountAmount,
  shippingDiscountAmount: grant.shippingDiscountAmount,
  items: cart.items.map((item, index) => ({ ...item, discountAmount: grant.items[index] ?? 0 })),
})

/** A request to redeem a hold, with the person and the cart of the hold. */
export const requestOf = (request: Redeem, { cart, visitorId, userId }: Hold): Redeem => ({
  ...request,
  isList: true,
  visitorId,
  userId,
  cart,
  currency: request.currency ?? cart.currency,
})

/**
 * Why a hold cannot be redeemed for an order; undefined when it can. Prevents other redemptions of the order until the
 * transaction ends.
 */
export const orderRefusalOf = async (
  client: ClientBase,
  { hold: { projectId }, wanted, payments }: Held,
  orderId: string | null,
  hasProgrammes: boolean,
): Promise<Answer | undefined> => {
  if (orderId === null)
    return payments.length > 0 || wanted.some(({ coupon }) => coupon.code === null)
      ? provisional(400, { error: 'orderId is required for a hold with promotions or gift cards' })
      : undefined
  const earlier = await lockOrder(client, { projectId, orderId })
  const paid = payments.length > 0 ? await findOrderPayments(client, projectId, orderId) : []
  const points = hasProgrammes ? await findOrderSpending(client, projectId, orderId) : []
  return earlier.length > 0 || points.length > 0 || paid.some(({ spent, refunded }) => spent > refunded)
    ? provisional(400, {
        error:
          'orderId has redemptions with items, points or payments already: a hold is computed for the whole cart. Roll these back first, or redeem by codes',
      })
    : undefined
}

/** Returns what a hold reserves for its person, before the redemption counts it. */
export const returnUses = async (
  client: ClientBase,
  { hold: { profileId }, coupons }: Held,
): Promise<void> => {
  if (profileId === null) return
  for (const { poolId } of byPool(coupons)) await returnToProfile(client, poolId, profileId)
}

/** Returns what a hold reserves of its pools, before the redemption counts it. */
export const returnBudgets = async (client: ClientBase, { coupons }: Held): Promise<void> => {
  for (const { poolId, budgetCharge } of byPool(coupons))
    await returnToPool(client, poolId, { uses: 1, amount: budgetCharge ?? 0 })
}

const byPool = (coupons: readonly HeldCoupon[]): HeldCoupon[] =>
  coupons.toSorted((a, b) => (a.poolId < b.poolId ? -1 : 1))
