import type { CouponRules, Discount } from '@waymark/contracts/http/coupon-views'
import { describe, expect, it } from 'vitest'
import { patchedPoolValues } from './coupon-pool-values.ts'
import { type PoolTerms, storedTerms } from './coupon-terms.ts'

const percent: Discount = { type: 'percent', value: 10 }
const euros: Discount = { ...percent, currency: 'EUR' }
const terms = (values: Partial<PoolTerms>): PoolTerms => ({
  discount: euros,
  rules: null,
  budgetAmount: null,
  ...values,
})
const fieldOf = (values: Partial<PoolTerms>): string | undefined => {
  try {
    storedTerms(terms(values))
    return undefined
  } catch (error) {
    const { details } = error as { details: { errors: { field: string }[] } }
    return details.errors[0]?.field
  }
}

describe('the terms of a pool', () => {
  it('have currencies in upper case, and no rules that say nothing', () => {
    const stored = storedTerms({
      discount: { ...percent, currency: 'eur' },
      rules: { firstOrderOnly: false },
      budgetAmount: { amount: 100, currency: 'eur' },
    })
    expect(stored).toEqual({
      discount: { type: 'percent', value: 10, currency: 'EUR' },
      rules: null,
      budgetAmount: { amount: 100, currency: 'EUR' },
    })
  })

  it.each<[string, Discount, string | undefined]>([
    ['a cap', { ...euros, maxAmount: 0 }, undefined],
    ['a cap without a currency', { ...percent, maxAmount: 1 }, 'discount.currency'],
    ['a cap of an amount', { type: 'amount', value: 1, currency: 'EUR', maxAmount: 1 }, 'discount.maxAmount'],
    ['free units', { type: 'buy_x_get_y', buyQuantity: 1, getQuantity: 1 }, undefined],
    ['free units without a quantity', { type: 'buy_x_get_y', buyQuantity: 1 }, 'discount.getQuantity'],
    ['a quantity of a percentage', { ...percent, buyQuantity: 1 }, 'discount.buyQuantity'],
    ['free shipping', { type: 'free_shipping' }, undefined],
    ['a type of its own', { type: 'points', data: { points: 5 } }, undefined],
  ])('may be a discount with %s, or not', (_what, discount, field) => {
    expect(fieldOf({ discount })).toBe(field)
  })

  it.each<[string, CouponRules, string | undefined]>([
    ['a minimum as large as the maximum', { minimumAmount: 5, maximumAmount: 5 }, undefined],
    ['a minimum above the maximum', { minimumAmount: 6, maximumAmount: 5 }, 'rules.maximumAmount'],
    ['a condition', { condition: { var: 'traits.a' } }, undefined],
    ['a condition of a segment', { condition: { segment: 'regulars' } }, undefined],
    ['a condition that is no JsonLogic', { condition: { call: 1 } }, 'rules.condition'],
    ['many names', { includedSkus: Array.from({ length: 160 }, () => 'x'.repeat(200)) }, undefined],
    ['too many names', { includedSkus: Array.from({ length: 162 }, () => 'x'.repeat(200)) }, 'rules'],
  ])('may have rules with %s, or not', (_what, rules, field) => {
    expect(fieldOf({ rules })).toBe(field)
  })

  it('need a currency for amounts, which is the same everywhere', () => {
    const rules = { minimumAmount: 1 }
    const budgetAmount = { amount: 1, currency: 'EUR' }
    expect(fieldOf({ discount: percent, rules })).toBe('rules.minimumAmount')
    expect(fieldOf({ discount: percent, rules, budgetAmount })).toBeUndefined()
    expect(fieldOf({ budgetAmount: { ...budgetAmount, currency: 'USD' } })).toBe('budgetAmount.currency')
  })
})

describe('a change of a pool', () => {
  const pool = {
    kind: 'unique',
    startsAt: null,
    expiresAt: null,
    discount: { type: 'percent', value: 10, currency: 'EUR' },
    rules: { minimumAmount: 1 },
    budgetAmount: null,
    budgetCurrency: 'EUR',
    count: { granted: 1n },
  }

  it('is checked together with what does not change', () => {
    expect(() => patchedPoolValues(pool, { discount: percent })).toThrow(/^rules\.minimumAmount /)
    expect(patchedPoolValues(pool, { discount: percent, rules: null })).toMatchObject({ discount: percent })
    expect(patchedPoolValues(pool, { name: 'New' })).toEqual({ name: 'New' })
  })

  it('of its name, times or limits is possible with a discount that earlier versions accepted', () => {
    const earlier = { ...pool, discount: { type: 'buy_x_get_y', data: { buy: 2, get: 1 } }, rules: null }
    expect(patchedPoolValues(earlier, { name: 'New', perProfileLimit: 1, expiresAt: null })).toEqual({
      name: 'New',
      perProfileLimit: 1,
      expiresAt: null,
    })
    expect(() => patchedPoolValues(earlier, { rules: { firstOrderOnly: true } })).toThrow(
      /^discount\.buyQuantity /,
    )
  })

  it('keeps the currency of a budget once something was granted', () => {
    const change = {
      discount: percent,
      rules: null,
      budgetAmount: { amount: 5, currency: 'USD' },
    }
    expect(() => patchedPoolValues(pool, change)).toThrow(/^budgetAmount\.currency must stay EUR/)
    const unused = { ...pool, count: { granted: 0n } }
    expect(patchedPoolValues(unused, change)).toMatchObject({ budgetAmount: 5n, budgetCurrency: 'USD' })
    expect(patchedPoolValues(pool, { budgetAmount: null })).toMatchObject({ budgetAmount: null })
  })
})
