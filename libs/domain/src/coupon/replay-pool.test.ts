import { expect, it } from 'vitest'
import { replayCarts } from './replay-pool.ts'

const none = { budget: null, perProfileLimit: null, maxRedemptions: null }
const granting = (discountAmount: number, profileId: string | null = 'p') => ({
  profileId,
  outcome: { grant: { discountAmount, items: [], shippingDiscountAmount: 0 } },
})
const answers = (...args: Parameters<typeof replayCarts>) =>
  replayCarts(...args).map((one) => ('refusal' in one ? one.refusal : one.discountAmount))

it('keeps to the limits of a pool in the order of its carts', () => {
  const carts = [granting(60), granting(50, 'q'), granting(40), granting(1, null)]
  expect(answers(carts, none)).toEqual([60, 50, 40, 1])
  const budget = { amount: 100, currency: 'EUR' }
  expect(answers(carts, { ...none, budget })).toEqual([60, 'budget_exhausted', 40, 'budget_exhausted'])
  expect(answers(carts, { ...none, maxRedemptions: 2 })).toEqual([
    60,
    50,
    'max_redemptions',
    'max_redemptions',
  ])
  expect(answers(carts, { ...none, perProfileLimit: 1 })).toEqual([
    60,
    50,
    'profile_limit',
    'person_required',
  ])
  const refused = { profileId: 'p', outcome: { refusal: 'minimum_not_reached' as const } }
  expect(answers([refused, granting(5)], { ...none, perProfileLimit: 1 })).toEqual(['minimum_not_reached', 5])
})
