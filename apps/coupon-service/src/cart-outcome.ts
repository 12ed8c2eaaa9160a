import type { CartRefusal } from '@waymark/contracts/coupon'
import type { GrantedItem } from '@waymark/contracts/http/coupon-views'
import { discountCart, grantedBefore, needsCart, refusalOf } from '@waymark/domain/coupon'
import type { Shopper } from '@waymark/pipeline'
import type { ClientBase } from 'pg'
import type { Coupon } from './redeemable-coupon-queries.ts'
import { type Granted, lockOrder, type Redeem } from './redemption-queries.ts'

/** What a coupon grants for a cart, or why it does not apply to it. */
type CartOutcome = { granted: Granted } | { refusal: CartRefusal }

/** A coupon of a request. Its outcome is undefined without a cart. */
export type Wanted = { coupon: Coupon; outcome: CartOutcome | undefined }

/** Whether the rules of a coupon depend on the person. */
export const needsShopper = ({ pool: { rules } }: Coupon): boolean =>
  rules?.firstOrderOnly === true || (rules?.condition ?? null) !== null

/**
 * The coupon for which a request is refused; undefined when the cart refuses none. One that cannot be redeemed at `now` (ms
 * since the epoch) comes first, because others may only not combine with it.
 */
export const refusedOf = (wanted: readonly Wanted[], now: number): Wanted | undefined => {
  const refused = wanted.find(({ coupon, outcome }) =>
    outcome === undefined ? needsCart(coupon.pool) : 'refusal' in outcome,
  )
  return refused && (wanted.find(({ coupon }) => refusalOf(coupon, now)) ?? refused)
}

/**
 * Coupons with what they grant together for the cart of a request, of what earlier redemptions of its order left, and what
 * those granted, in minor units. Prevents others of the order until the transaction of `client` ends. Undefined when those had
 * other items.
 */
export const discountWanted = async (
  client: ClientBase,
  projectId: string,
  coupons: readonly Coupon[],
  { cart, orderId }: Redeem,
  shopper: Shopper | undefined,
): Promise<{ wanted: Wanted[]; grantedBefore: number } | undefined> => {
  if (!cart) return { wanted: coupons.map((coupon) => ({ coupon, outcome: undefined })), grantedBefore: 0 }
  const earlier = orderId === null ? [] : await lockOrder(client, { projectId, orderId })
  const granted = grantedBefore(cart.items, earlier)
  if (!granted || earlier.some(({ currency }) => currency !== cart.currency)) return undefined
  const outcomes = discountCart(
    { ...cart, ...(earlier.length > 0 && { granted }) },
    coupons.map(({ normalizedCode: code, pool }) => ({ code, pool })),
    shopper,
  )
  const wanted = coupons.map((coupon, index): Wanted => {
    const outcome = outcomes[index]
    if (!outcome || 'refusal' in outcome) return { coupon, outcome }
    const { discountAmount, shippingDiscountAmount, items } = outcome.grant
    const lines = cart.items.map(
      (item, index): GrantedItem => ({ ...item, discountAmount: items[index] ?? 0 }),
    )
    return { coupon, outcome: { granted: { discountAmount, shippingDiscountAmount, items: lines } } }
  })
  const before = granted.items.reduce((sum, amount) => sum + amount, granted.shippingAmount)
  return { wanted, grantedBefore: before }
}
