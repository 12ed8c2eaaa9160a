import type { CartRefusal } from '@waymark/contracts/coupon'
import type { CartItem } from '@waymark/contracts/http/cart'
import type { CouponRules, Discount } from '@waymark/contracts/http/coupon-views'
import { type LogicData, logicData, MAX_STEPS, STEP_COST } from '../logic/compile-logic.ts'
import type { SegmentLookup } from '../logic/meter-logic.ts'
import { WorkBudget } from '../logic/work-budget.ts'
import { compileCondition } from './condition.ts'
import { sumOf } from './money.ts'

/**
 * A cart with amounts in minor units. The sum of its items and the shipping is a safe integer. `granted`: what earlier
 * redemptions of its order granted.
 */
export type Cart = {
  currency: string
  items: readonly CartItem[]
  shippingAmount: number
  granted?: GrantedBefore
}

/** Discounts by item in the order of the cart, and for the shipping, and the pools of their coupons. */
export type GrantedBefore = {
  items: readonly number[]
  shippingAmount: number
  pools: readonly Pick<CartPool, 'id' | 'stackable'>[]
}

/** What a pool grants, and under which rules. `used` is the part of the budget that was granted. */
export type CartPool = {
  id: string
  discount: Discount
  rules: CouponRules | null
  stackable: boolean
  /** Which of several applies first, and of equal combinations: the higher one. */
  priority: number
  budget: { amount: number; currency: string; used: number } | null
}

/** The person of a cart. `hasOrdered`: a conversion with an amount is stored. `segments`: those that conditions refer to. */
export type Shopper = {
  traits: Readonly<Record<string, unknown>>
  hasOrdered: boolean
  segments?: SegmentLookup | undefined
}

/** As much work as a condition may take, and how many of these the conditions of a request may take together. */
const CONDITION_WORK = MAX_STEPS * STEP_COST
const CONDITIONS_AT_MOST = 10

/**
 * The work for each of `count` conditions: equal parts, none shared, so that the result of one does not depend on the others
 * or on their order.
 */
export const conditionWork = (count: number): (() => WorkBudget) => {
  const part = Math.floor(CONDITION_WORK * Math.min(1, CONDITIONS_AT_MOST / count))
  return () => new WorkBudget(0, part)
}

export const amountOf = ({ quantity, unitAmount }: CartItem): number => quantity * unitAmount

/** Whether a cart's total is a safe integer, as `discountCart` needs. */
export const isCountable = ({ items, shippingAmount }: Cart): boolean =>
  items.reduce(
    (sum, { quantity, unitAmount }) => sum + BigInt(quantity) * BigInt(unitAmount),
    BigInt(shippingAmount),
  ) <= BigInt(Number.MAX_SAFE_INTEGER)

/** The currency of all amounts of a pool; undefined when it has none and applies to every currency. */
const currencyOfPool = ({ discount, budget }: Pick<CartPool, 'discount' | 'budget'>) =>
  discount.currency ?? budget?.currency

/** Whether a pool's coupons are redeemed only for a cart. */
export const needsCart = ({ rules, budget }: Pick<CartPool, 'rules' | 'budget'>): boolean =>
  rules !== null || budget !== null

/** The names in two lists of rules. Undefined when there is neither list. */
type NamedItems = { skus: ReadonlySet<string>; categories: ReadonlySet<string> } | undefined
const namedItems = (skus?: readonly string[], categories?: readonly string[]): NamedItems =>
  skus || categories ? { skus: new Set(skus), categories: new Set(categories) } : undefined

const isIn = (named: NamedItems, { sku, category }: CartItem): boolean =>
  named !== undefined && (named.skus.has(sku) || (category !== undefined && named.categories.has(category)))

type NamedInRules = { included: NamedItems; excluded: NamedItems }
// A request asks for each of 200 lines and 200 pools, each with lists of 500 names, several times.
const namedInRules = new WeakMap<CouponRules, NamedInRules>()
const namesOf = (rules: CouponRules): NamedInRules => {
  const known = namedInRules.get(rules)
  if (known) return known
  const { includedSkus, includedCategories, excludedSkus, excludedCategories } = rules
  const named = {
    included: namedItems(includedSkus, includedCategories),
    excluded: namedItems(excludedSkus, excludedCategories),
  }
  namedInRules.set(rules, named)
  return named
}

/** Whether a coupon applies to an item. An exclusion wins over an inclusion. */
export const isEligible = (item: CartItem, rules: CouponRules | null): boolean => {
  if (rules === null) return true
  const { included, excluded } = namesOf(rules)
  return !isIn(excluded, item) && (included === undefined || isIn(included, item))
}

/** The units that `buy_x_get_y` counts: those that cost something. */
const countedUnits = (items: readonly CartItem[]): number =>
  sumOf(items.map(({ quantity, unitAmount }) => (unitAmount > 0 ? quantity : 0)))

/**
 * The first rule of a pool that a cart does not meet; undefined when it meets all. Amounts are those of the eligible items
 * before any discount. `shopper` is undefined when the request names no person.
 */
export const cartRefusalOf = (
  cart: Cart,
  pool: CartPool,
  shopper: Shopper | undefined,
  work: WorkBudget,
): CartRefusal | undefined => {
  const { discount, rules } = pool
  const currency = currencyOfPool(pool)
  if (currency !== undefined && currency !== cart.currency) return 'currency_mismatch'
  const { eligible, total } = eligibleOf(cart, rules)
  if (eligible.length === 0) return 'no_eligible_items'
  if (total < (rules?.minimumAmount ?? 0)) return 'minimum_not_reached'
  if (total > (rules?.maximumAmount ?? total)) return 'maximum_exceeded'
  if (countedUnits(eligible) < unitsNeeded(discount)) return 'quantity_not_reached'
  return personRefusalOf(rules, shopper, work) ?? (combines(pool, cart) ? undefined : 'not_stackable')
}

/** The items of a cart that a pool applies to, and what they amount to. */
const eligibleOf = ({ items }: Cart, rules: CouponRules | null) => {
  const eligible = items.filter((item) => isEligible(item, rules))
  return { eligible, total: sumOf(eligible.map(amountOf)) }
}

/** What a cart lacks: an amount in minor units, and units for `buy_x_get_y`. At least one is present. */
export type Missing = { amount?: number; quantity?: number }

/** What a cart lacks of a pool's items to meet all of its rules; undefined when more items would not do, or none lacks. */
export const missingOf = (
  cart: Cart,
  pool: CartPool,
  shopper: Shopper | undefined,
  work: WorkBudget,
): Missing | undefined => {
  const { discount, rules } = pool
  const currency = currencyOfPool(pool)
  if (currency !== undefined && currency !== cart.currency) return undefined
  const { eligible, total } = eligibleOf(cart, rules)
  const amount = (rules?.minimumAmount ?? 0) - total
  const quantity = unitsNeeded(discount) - countedUnits(eligible)
  if ((amount <= 0 && quantity <= 0) || total > (rules?.maximumAmount ?? total)) return undefined
  if (personRefusalOf(rules, shopper, work) !== undefined || !combines(pool, cart)) return undefined
  return { ...(amount > 0 && { amount }), ...(quantity > 0 && { quantity }) }
}

/** Whether a coupon of a pool combines with those that were redeemed for the order before. */
const combines = (pool: CartPool, { granted }: Cart): boolean =>
  granted === undefined ||
  (pool.stackable && granted.pools.every(({ id, stackable }) => stackable && id !== pool.id))

const unitsNeeded = ({ type, buyQuantity, getQuantity }: Discount): number =>
  type === 'buy_x_get_y' && buyQuantity !== undefined && getQuantity !== undefined
    ? buyQuantity + getQuantity
    : 0

const personRefusalOf = (
  rules: CouponRules | null,
  shopper: Shopper | undefined,
  work: WorkBudget,
): CartRefusal | undefined => {
  const { firstOrderOnly = false, condition = null } = rules ?? {}
  if (!firstOrderOnly && condition === null) return undefined
  if (shopper === undefined) return 'person_required'
  if (firstOrderOnly && shopper.hasOrdered) return 'not_first_order'
  if (condition === null) return undefined
  return compileCondition(condition).evaluate(dataOf(shopper), work) === 'holds'
    ? undefined
    : 'condition_not_met'
}

// The conditions of all coupons of a request are evaluated on the same data, which takes long to prepare.
const dataOfShoppers = new WeakMap<Shopper, LogicData>()
const dataOf = (shopper: Shopper): LogicData => {
  const known = dataOfShoppers.get(shopper)
  if (known) return known
  const data = logicData({ traits: shopper.traits }, shopper.segments)
  dataOfShoppers.set(shopper, data)
  return data
}
