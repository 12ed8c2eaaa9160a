import type { CartRefusal } from '@waymark/contracts/coupon'
import type { CouponOutcome } from './cart-discount.ts'
import { exceedsBudget } from './grant.ts'

/** A cart of the past, with what a pool without a budget grants for it. */
export type PastCart = { profileId: string | null; outcome: CouponOutcome }

/** The limits of a pool that depend on what it granted before; null for none. Amounts in minor units. */
export type PoolLimits = {
  budget: { amount: number; currency: string } | null
  perProfileLimit: number | null
  maxRedemptions: number | null
}

/** Why a cart of the past would have got nothing: beside what a cart is refused for, the limits of the pool. */
export type ReplayedRefusal = CartRefusal | 'profile_limit' | 'max_redemptions'

/** What each cart would have got, in minor units, or why nothing. */
export type ReplayedCart = { discountAmount: number } | { refusal: ReplayedRefusal }

/** Applies the limits of a pool to carts in the order of their time, as if it had granted nothing before the first. */
export const replayCarts = (
  carts: readonly PastCart[],
  { budget, perProfileLimit, maxRedemptions }: PoolLimits,
): ReplayedCart[] => {
  const usesOf = new Map<string, number>()
  let uses = 0
  let used = 0
  return carts.map(({ profileId, outcome }): ReplayedCart => {
    if ('refusal' in outcome) return outcome
    const { discountAmount } = outcome.grant
    if (maxRedemptions !== null && uses >= maxRedemptions) return { refusal: 'max_redemptions' }
    if (perProfileLimit !== null && profileId === null) return { refusal: 'person_required' }
    const ofPerson = usesOf.get(profileId ?? '') ?? 0
    if (perProfileLimit !== null && ofPerson >= perProfileLimit) return { refusal: 'profile_limit' }
    if (exceedsBudget({ budget: budget && { ...budget, used } }, discountAmount))
      return { refusal: 'budget_exhausted' }
    uses += 1
    used += discountAmount
    if (profileId !== null) usesOf.set(profileId, ofPerson + 1)
    return { discountAmount }
  })
}
