import type { CartRefusal } from '@waymark/contracts/coupon'
import type { CartItem } from '@waymark/contracts/http/cart'
import type { Discount } from '@waymark/contracts/http/coupon-views'
import { MAX_STEPS, STEP_COST } from '../logic/compile-logic.ts'
import type { WorkBudget } from '../logic/work-budget.ts'
import { amountOf, type Cart, type CartPool, cartRefusalOf, isEligible, type Shopper } from './cart-rules.ts'
import { allocate, allocateInProportion, percentRatio, shareOf, sumOf } from './money.ts'

/** A coupon of a cart. `code` is normalized. */
export type CartCoupon = { code: string; pool: CartPool }

/** What a coupon grants, in minor units: by item in the order of the cart, and for the shipping. */
export type Grant = { discountAmount: number; items: readonly number[]; shippingDiscountAmount: number }

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
  work: WorkBudget,
): CouponOutcome[] => {
  const refusals = new Map<CartCoupon, CartRefusal>()
  for (const coupon of coupons) {
    // As much as a condition may take, so that it does not depend on those of other coupons.
    work.startItem(MAX_STEPS * STEP_COST)
    const refusal = cartRefusalOf(cart, coupon.pool, shopper, work)
    if (refusal !== undefined) refusals.set(coupon, refusal)
  }
  const byCode = [...coupons].sort((a, b) => compare(a.code, b.code))
  const grants = chooseWithinBudgets(cart, byCode, refusals)
  return coupons.map((coupon) => {
    const grant = grants.get(coupon)
    return grant ? { grant } : { refusal: refusals.get(coupon) ?? 'not_stackable' }
  })
}

/** Chooses again without a coupon whose budget does not suffice, which is added to `refusals`. */
const chooseWithinBudgets = (
  cart: Cart,
  coupons: readonly CartCoupon[],
  refusals: Map<CartCoupon, CartRefusal>,
): ReadonlyMap<CartCoupon, Grant> => {
  for (;;) {
    const grants = chooseTogether(
      cart,
      coupons.filter((coupon) => !refusals.has(coupon)),
    )
    const [exceeding] =
      [...grants].find(([{ pool }, grant]) => exceedsBudget(pool, grant.discountAmount)) ?? []
    if (!exceeding) return grants
    refusals.set(exceeding, 'budget_exhausted')
  }
}

/** Whether a discount does not fit into what is left of a pool's budget. */
export const exceedsBudget = ({ budget }: Pick<CartPool, 'budget'>, discountAmount: number): boolean =>
  budget !== null && budget.used + discountAmount > budget.amount

/**
 * The coupons that apply together: the stackable ones, at most one per pool, or one that is not stackable, whichever grants
 * most. Equal grants: the stackable ones, then the lowest code.
 */
const chooseTogether = (cart: Cart, coupons: readonly CartCoupon[]): ReadonlyMap<CartCoupon, Grant> => {
  const stackable = coupons.filter(
    ({ pool }, index) => pool.stackable && coupons.findIndex((other) => other.pool.id === pool.id) === index,
  )
  const single = coupons.filter(({ pool }) => !pool.stackable).map((coupon) => [coupon])
  let best: ReadonlyMap<CartCoupon, Grant> = new Map()
  let most = -1
  for (const group of [...(stackable.length > 0 ? [stackable] : []), ...single]) {
    const grants = grantTogether(cart, group)
    const total = sumOf([...grants.values()].map(({ discountAmount }) => discountAmount))
    if (total > most) [best, most] = [grants, total]
  }
  return best
}

/** A line of the cart: what is left to pay for it, and the units that are not free. */
type Line = { index: number; item: CartItem; left: number; units: number }

/** The grants of coupons on one cart. Each applies to what the ones before leave, in a fixed order of types and codes. */
const grantTogether = (cart: Cart, coupons: readonly CartCoupon[]): ReadonlyMap<CartCoupon, Grant> => {
  const lines = linesOf(cart)
  let shippingLeft = Math.max(0, cart.shippingAmount - (cart.granted?.shippingAmount ?? 0))
  const grants = new Map<CartCoupon, Grant>()
  const inOrder = [...coupons].sort((a, b) => rankOf(a) - rankOf(b) || compare(a.code, b.code))
  for (const coupon of inOrder) {
    const { discount, rules } = coupon.pool
    const eligible = lines.filter(({ item }) => isEligible(item, rules))
    const shares = sharesOf(eligible, discount)
    const items = cart.items.map(() => 0)
    eligible.forEach((line, index) => {
      const share = shares[index] ?? 0
      items[line.index] = share
      line.left -= share
      if (discount.type === 'buy_x_get_y' && share > 0) line.units -= share / line.item.unitAmount
    })
    const shipping =
      discount.type === 'free_shipping' ? Math.min(shippingLeft, discount.maxAmount ?? shippingLeft) : 0
    shippingLeft -= shipping
    grants.set(coupon, { discountAmount: sumOf(shares) + shipping, items, shippingDiscountAmount: shipping })
  }
  return grants
}

/** Free units first, because they depend on prices, and amounts after percentages. */
const ORDER = ['buy_x_get_y', 'percent', 'amount', 'free_shipping']

const rankOf = ({ pool }: CartCoupon): number => {
  const rank = ORDER.indexOf(pool.discount.type)
  return rank === -1 ? ORDER.length : rank
}

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
