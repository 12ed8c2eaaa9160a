import type { CartRefusal } from '@waymark/contracts/coupon'
import { type Cart, cartRefusalOf, conditionWork, type Shopper } from './cart-rules.ts'
import {
  byPreference,
  type CartCoupon,
  exceedsBudget,
  type Grant,
  grantTogether,
  type Remaining,
  remainingOf,
} from './grant.ts'
import { sumOf } from './money.ts'

/** What a coupon of a cart grants, or why it does not apply. */
export type CouponOutcome = { grant: Grant } | { refusal: CartRefusal }

/**
 * The outcome of each coupon of a cart, in the order of `coupons`. The outcome of a coupon depends neither on the order of
 * items nor on that of coupons.
 */
export const discountCart = (
  cart: Cart,
  coupons: readonly CartCoupon[],
  shopper: Shopper | undefined,
): CouponOutcome[] => {
  const refusals = new Map<CartCoupon, CartRefusal>()
  const work = conditionWork(coupons.length)
  for (const coupon of coupons) {
    const refusal = cartRefusalOf(cart, coupon.pool, shopper, work())
    if (refusal !== undefined) refusals.set(coupon, refusal)
  }
  const grants = chooseWithinBudgets(cart, coupons, refusals)
  return coupons.map((coupon) => {
    const grant = grants.get(coupon)
    return grant ? { grant } : { refusal: refusals.get(coupon) ?? 'not_stackable' }
  })
}

/** The coupons that apply together. Chooses again without one whose budget does not suffice, which is added to `refusals`. */
export const chooseWithinBudgets = (
  cart: Cart,
  coupons: readonly CartCoupon[],
  refusals: Map<CartCoupon, CartRefusal>,
): ReadonlyMap<CartCoupon, Grant> => {
  const preferred = coupons.toSorted(byPreference)
  const remaining = remainingOf(cart)
  for (;;) {
    const grants = chooseTogether(
      remaining,
      preferred.filter((coupon) => !refusals.has(coupon)),
    )
    const [exceeding] =
      [...grants].find(([{ pool }, grant]) => exceedsBudget(pool, grant.discountAmount)) ?? []
    if (!exceeding) return grants
    refusals.set(exceeding, 'budget_exhausted')
  }
}

/**
 * The coupons that apply together: the stackable ones, at most one per pool, or one that is not stackable, whichever grants
 * most. Equal grants: the stackable ones, then the first of `coupons`.
 */
const chooseTogether = (
  remaining: Remaining,
  coupons: readonly CartCoupon[],
): ReadonlyMap<CartCoupon, Grant> => {
  const stackable = coupons.filter(
    ({ pool }, index) => pool.stackable && coupons.findIndex((other) => other.pool.id === pool.id) === index,
  )
  const single = coupons.filter(({ pool }) => !pool.stackable).map((coupon) => [coupon])
  let best: ReadonlyMap<CartCoupon, Grant> = new Map()
  let most = -1
  for (const group of [...(stackable.length > 0 ? [stackable] : []), ...single]) {
    const grants = grantTogether(remaining, group)
    const total = sumOf([...grants.values()].map(({ discountAmount }) => discountAmount))
    if (total > most) [best, most] = [grants, total]
  }
  return best
}
