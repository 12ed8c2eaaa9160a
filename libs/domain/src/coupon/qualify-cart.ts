import type { CartRefusal } from '@waymark/contracts/coupon'
import type { Turns } from '../json/json-patch.ts'
import { chooseWithinBudgets } from './cart-discount.ts'
import {
  type Cart,
  cartRefusalOf,
  conditionWork,
  type Missing,
  missingOf,
  type Shopper,
} from './cart-rules.ts'
import {
  byPreference,
  type CartCoupon,
  exceedsBudget,
  type Grant,
  grantNext,
  inOrderOfUse,
  isComputed,
  type Remaining,
  remainingOf,
} from './grant.ts'

/** The most candidates of which every combination is computed. */
export const MAX_COMPARED = 8

/** What a candidate would grant if it applied alone, or why it does not apply, and what the cart lacks. */
export type Qualification = { grant: Grant } | { refusal: CartRefusal; missing?: Missing }

/** The qualification of each candidate, in their order, and the best combination of those that qualify. */
export type Qualified<C extends CartCoupon> = {
  qualifications: Qualification[]
  best: ReadonlyMap<C, Grant>
}

/**
 * What each candidate would grant for a cart, and the combination that grants most. `discountCart` grants the same for the
 * combination. The result depends neither on the order of items nor on that of candidates. The work is divided into turns,
 * because 200 candidates with long lists take a tenth of a second.
 */
export const qualifyCart = async <C extends CartCoupon>(
  cart: Cart,
  candidates: readonly C[],
  shopper: Shopper | undefined,
  turns: Turns,
): Promise<Qualified<C>> => {
  const work = conditionWork(candidates.length)
  const remaining = remainingOf(cart)
  const qualificationOf = ({ pool }: C): Qualification => {
    const refusal = cartRefusalOf(cart, pool, shopper, work())
    if (refusal !== undefined) {
      const missing = missingOf(cart, pool, shopper, work())
      return { refusal, ...(missing && { missing }) }
    }
    const { grant } = grantNext(remaining, pool)
    return exceedsBudget(pool, grant.discountAmount) ? { refusal: 'budget_exhausted' } : { grant }
  }
  const qualifications: Qualification[] = []
  for (const candidate of candidates) {
    if (turns.isOver()) await turns.next()
    qualifications.push(qualificationOf(candidate))
  }
  const qualified = candidates.filter((_, index) => {
    const qualification = qualifications[index]
    return qualification !== undefined && 'grant' in qualification
  })
  return { qualifications, best: bestCombination(cart, qualified) }
}

/**
 * The combination that grants most: stackable coupons, at most one per pool, or one that is not stackable. Of equal ones
 * the stackable, then that with the first coupon by preference, then that with the next one. It is the best one of up to
 * `MAX_COMPARED` coupons; of more, that of `discountCart`. Coupons that would grant nothing are left out, except those
 * whose discount is up to the shop.
 */
const bestCombination = <C extends CartCoupon>(cart: Cart, coupons: readonly C[]): ReadonlyMap<C, Grant> => {
  if (coupons.length <= MAX_COMPARED) return bestOfAll(cart, coupons)
  const grants = chooseWithinBudgets(cart, coupons, new Map()) as ReadonlyMap<C, Grant>
  return new Map([...grants].filter(([{ pool }, grant]) => isUseful(pool, grant)))
}

const isUseful = ({ discount }: CartCoupon['pool'], { discountAmount }: Grant): boolean =>
  discountAmount > 0 || !isComputed(discount)

/** A combination. The bits of `members` are those of its coupons; the more preferred, the higher. */
type Combination<C> = { grants: readonly (readonly [C, Grant])[]; total: number; members: number }

const bestOfAll = <C extends CartCoupon>(cart: Cart, coupons: readonly C[]): ReadonlyMap<C, Grant> => {
  const lessPreferredFirst = coupons
    .toSorted((a, b) => Number(b.pool.stackable) - Number(a.pool.stackable) || byPreference(a, b))
    .reverse()
  const bitOf = new Map<CartCoupon, number>(lessPreferredFirst.map((coupon, index) => [coupon, 2 ** index]))
  let best: Combination<C> = { grants: [], total: 0, members: 0 }

  /** Compares all combinations that extend one by some of `next`, in the order of which they apply. */
  const extend = (combination: Combination<C>, remaining: Remaining, next: readonly C[]): void => {
    const { grants, total, members } = combination
    if (total > best.total || (total === best.total && members > best.members)) best = combination
    for (const [index, coupon] of next.entries()) {
      if (grants.some(([{ pool }]) => pool.id === coupon.pool.id)) continue
      const { grant, left } = grantNext(remaining, coupon.pool)
      if (!isUseful(coupon.pool, grant) || exceedsBudget(coupon.pool, grant.discountAmount)) continue
      const extended = {
        grants: [...grants, [coupon, grant] as const],
        total: total + grant.discountAmount,
        members: members + (bitOf.get(coupon) ?? 0),
      }
      extend(extended, left, coupon.pool.stackable ? next.slice(index + 1) : [])
    }
  }
  const none: Combination<C> = best
  const stackable = coupons.filter(({ pool }) => pool.stackable)
  extend(none, remainingOf(cart), inOrderOfUse(stackable) as C[])
  for (const coupon of coupons) if (!coupon.pool.stackable) extend(none, remainingOf(cart), [coupon])
  return new Map(best.grants)
}
