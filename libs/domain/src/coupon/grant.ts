import type { CartItem } from '@waymark/contracts/http/cart'
import type { Discount } from '@waymark/contracts/http/coupon-views'
import { amountOf, type Cart, type CartPool, isEligible } from './cart-rules.ts'
import { allocate, allocateInProportion, percentRatio, shareOf, sumOf } from './money.ts'

/** A coupon or promotion of a cart. `code` is normalized, and a unique key of a promotion, which has no code. */
export type CartCoupon = { code: string; pool: CartPool }

/** What a coupon grants, in minor units: by item in the order of the cart, and for the shipping. */
export type Grant = { discountAmount: number; items: readonly number[]; shippingDiscountAmount: number }

/** A line of the cart: what is left to pay for it, and the units that are not free. */
type Line = { index: number; item: CartItem; left: number; units: number }

/** What is left to pay of a cart, in minor units. */
export type Remaining = { lines: readonly Line[]; shippingAmount: number }

/** Whether a discount does not fit into what is left of a pool's budget. */
export const exceedsBudget = ({ budget }: Pick<CartPool, 'budget'>, discountAmount: number): boolean =>
  budget !== null && budget.used + discountAmount > budget.amount

/** The grants of coupons on what a cart leaves. Each applies to what the ones before leave, in the order of `inOrderOfUse`. */
export const grantTogether = (
  before: Remaining,
  coupons: readonly CartCoupon[],
): ReadonlyMap<CartCoupon, Grant> => {
  let remaining = before
  const grants = new Map<CartCoupon, Grant>()
  for (const coupon of inOrderOfUse(coupons)) {
    const { grant, left } = grantNext(remaining, coupon.pool)
    remaining = left
    grants.set(coupon, grant)
  }
  return grants
}

/** What a cart leaves to pay before any of its coupons. */
export const remainingOf = (cart: Cart): Remaining => ({
  lines: linesOf(cart),
  shippingAmount: Math.max(0, cart.shippingAmount - (cart.granted?.shippingAmount ?? 0)),
})

/** What a coupon of a pool grants of what others left, and what it leaves. */
export const grantNext = (
  { lines, shippingAmount }: Remaining,
  { discount, rules }: CartPool,
): { grant: Grant; left: Remaining } => {
  const eligible = lines.filter(({ item }) => isEligible(item, rules))
  const shares = sharesOf(eligible, discount)
  const items = lines.map(() => 0)
  eligible.forEach(({ index }, at) => {
    items[index] = shares[at] ?? 0
  })
  const shipping =
    discount.type === 'free_shipping' ? Math.min(shippingAmount, discount.maxAmount ?? shippingAmount) : 0
  const left = lines.map((line): Line => {
    const share = items[line.index] ?? 0
    if (share === 0) return line
    const units = discount.type === 'buy_x_get_y' ? share / line.item.unitAmount : 0
    return { ...line, left: line.left - share, units: line.units - units }
  })
  return {
    grant: { discountAmount: sumOf(shares) + shipping, items, shippingDiscountAmount: shipping },
    left: { lines: left, shippingAmount: shippingAmount - shipping },
  }
}

/** Free units first, because they depend on prices, and amounts after percentages. */
const ORDER = ['buy_x_get_y', 'percent', 'amount', 'free_shipping']

/** Whether a discount is computed for a cart. The shop applies others. */
export const isComputed = ({ type }: Discount): boolean => ORDER.includes(type)

const rankOf = ({ pool }: CartCoupon): number => {
  const rank = ORDER.indexOf(pool.discount.type)
  return rank === -1 ? ORDER.length : rank
}

/** The order in which coupons apply to a cart: by type, then by preference. */
export const inOrderOfUse = (coupons: readonly CartCoupon[]): CartCoupon[] =>
  coupons.toSorted((a, b) => rankOf(a) - rankOf(b) || byPreference(a, b))

/** Compares coupons: a higher priority first, then the lower code. */
export const byPreference = (a: CartCoupon, b: CartCoupon): number =>
  b.pool.priority - a.pool.priority || compare(a.code, b.code)

/** The lines in an order that does not depend on that of the cart. */
const linesOf = ({ items, granted }: Cart): Line[] =>
  items
    .map((item, index) => {
      const left = amountOf(item) - (granted?.items[index] ?? 0)
      return { index, item, left, units: unitsIn(left, item) }
    })
    .sort(
      ({ item: a, left }, { item: b, left: other }) =>
        compare(a.sku, b.sku) ||
        compare(a.category ?? '', b.category ?? '') ||
        a.unitAmount - b.unitAmount ||
        a.quantity - b.quantity ||
        left - other,
    )

/** The units whose whole price is left to pay. */
const unitsIn = (left: number, { quantity, unitAmount }: CartItem): number =>
  unitAmount === 0 ? quantity : (left - (left % unitAmount)) / unitAmount

// By code units, because the order of a locale depends on the machine.
const compare = (a: string, b: string): number => (a === b ? 0 : a < b ? -1 : 1)

const sharesOf = (lines: readonly Line[], discount: Discount): number[] => {
  const { type, value = 0, maxAmount = Number.MAX_SAFE_INTEGER } = discount
  const left = lines.map((line) => line.left)
  if (type === 'percent') {
    const ratio = percentRatio(value)
    const full = shareOf(sumOf(left), ratio)
    return full > maxAmount ? allocateInProportion(maxAmount, left) : allocate(full, left, ratio)
  }
  if (type === 'amount') return allocateInProportion(Math.min(value, sumOf(left)), left)
  if (type === 'buy_x_get_y') return freeUnitsOf(lines, discount)
  return left.map(() => 0)
}

/** The cheapest `getQuantity` of every `buyQuantity + getQuantity` units are free. */
const freeUnitsOf = (lines: readonly Line[], { buyQuantity, getQuantity }: Discount): number[] => {
  const shares = lines.map(() => 0)
  if (buyQuantity === undefined || getQuantity === undefined) return shares
  const priced = lines
    .map(({ item: { unitAmount }, units }, index) => ({ unitAmount, units, index }))
    .filter(({ unitAmount }) => unitAmount > 0)
  let free = Math.floor(sumOf(priced.map(({ units }) => units)) / (buyQuantity + getQuantity)) * getQuantity
  for (const { unitAmount, units, index } of priced.sort((a, b) => a.unitAmount - b.unitAmount)) {
    const taken = Math.min(free, units)
    shares[index] = taken * unitAmount
    free -= taken
  }
  return shares
}
