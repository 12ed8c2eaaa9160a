import type { CartItem } from '@waymark/contracts/http/cart'
import type { CouponRules, Discount } from '@waymark/contracts/http/coupon-views'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { discountCart } from './cart-discount.ts'
import { type Cart, type CartPool, isCountable, type Shopper } from './cart-rules.ts'
import type { CartCoupon, Grant } from './grant.ts'
import { returnedDiscount } from './returned-discount.ts'

const item = (sku: string, quantity: number, unitAmount: number, category?: string): CartItem => ({
  sku,
  quantity,
  unitAmount,
  ...(category !== undefined && { category }),
})
const cartOf = (items: readonly CartItem[], shippingAmount = 0): Cart => ({
  currency: 'EUR',
  items,
  shippingAmount,
})
const coupon = (discount: Discount, more: Partial<CartPool> & { code?: string } = {}): CartCoupon => {
  const { code = 'CODE', ...pool } = more
  return {
    code,
    pool: { id: code, discount, rules: null, stackable: false, priority: 0, budget: null, ...pool },
  }
}
const withRules = (rules: CouponRules, discount: Discount = tenPercent) => coupon(discount, { rules })
const judge = (cart: Cart, coupons: readonly CartCoupon[], shopper?: Shopper) =>
  discountCart(cart, coupons, shopper)
const reasonOf = (cart: Cart, one: CartCoupon, shopper?: Shopper) => {
  const [outcome] = judge(cart, [one], shopper)
  return outcome && 'refusal' in outcome ? outcome.refusal : undefined
}
const grantOf = (cart: Cart, one: CartCoupon): Grant => {
  const [outcome] = judge(cart, [one])
  if (!outcome || !('grant' in outcome)) throw new Error(`refused: ${outcome?.refusal}`)
  return outcome.grant
}

const tenPercent: Discount = { type: 'percent', value: 10 }
const euros = (value: number): Discount => ({ type: 'amount', value, currency: 'EUR' })
const cart = cartOf([item('shirt', 2, 1995, 'clothes'), item('mug', 3, 799, 'home'), item('card', 1, 0)], 490)

describe('the discount of a cart', () => {
  it.each<[string, Discount, Grant]>([
    // 10 % of 3990 is 399, of 2397 it is 239.7; of 6387 it is 638.7.
    ['percent', tenPercent, { discountAmount: 639, items: [399, 240, 0], shippingDiscountAmount: 0 }],
    [
      'percent with a cap',
      { type: 'percent', value: 50, currency: 'EUR', maxAmount: 1000 },
      { discountAmount: 1000, items: [625, 375, 0], shippingDiscountAmount: 0 },
    ],
    ['amount', euros(1000), { discountAmount: 1000, items: [625, 375, 0], shippingDiscountAmount: 0 }],
    [
      'more than the cart',
      euros(9999),
      { discountAmount: 6387, items: [3990, 2397, 0], shippingDiscountAmount: 0 },
    ],
    [
      'free_shipping',
      { type: 'free_shipping' },
      { discountAmount: 490, items: [0, 0, 0], shippingDiscountAmount: 490 },
    ],
    [
      'free_shipping with a cap',
      { type: 'free_shipping', currency: 'EUR', maxAmount: 300 },
      { discountAmount: 300, items: [0, 0, 0], shippingDiscountAmount: 300 },
    ],
    // Five units that cost something: one group of three, whose cheapest unit is free.
    [
      'buy_x_get_y',
      { type: 'buy_x_get_y', buyQuantity: 2, getQuantity: 1 },
      { discountAmount: 799, items: [0, 799, 0], shippingDiscountAmount: 0 },
    ],
    ['another type', { type: 'points' }, { discountAmount: 0, items: [0, 0, 0], shippingDiscountAmount: 0 }],
  ])('of %s', (_what, discount, grant) => {
    expect(grantOf(cart, coupon(discount))).toEqual(grant)
  })

  it('applies stackable coupons one after another, in a fixed order of types', () => {
    const coupons = [
      coupon(euros(500), { code: 'C', stackable: true }),
      coupon({ type: 'free_shipping' }, { code: 'D', stackable: true }),
      coupon(tenPercent, { code: 'B', stackable: true }),
      coupon({ type: 'buy_x_get_y', buyQuantity: 2, getQuantity: 1 }, { code: 'A', stackable: true }),
    ]
    // 799 free; 10 % of the remaining 5588 is 558.8; then 500 of 5029, and the shipping.
    expect(
      judge(cart, coupons).map((outcome) => ('grant' in outcome ? outcome.grant.discountAmount : 0)),
    ).toEqual([500, 490, 559, 799])
  })

  it('counts a unit as free once', () => {
    const free: Discount = { type: 'buy_x_get_y', buyQuantity: 1, getQuantity: 1 }
    const two = [coupon(free, { code: 'A', stackable: true }), coupon(free, { code: 'B', stackable: true })]
    // Four units: A gives two. B has two left and gives one.
    expect(
      judge(cartOf([item('x', 4, 100)]), two).map(
        (outcome) => 'grant' in outcome && outcome.grant.discountAmount,
      ),
    ).toEqual([200, 100])
  })

  it('chooses the most favorable combination, with the lowest code among equal ones', () => {
    const stack = [
      coupon(euros(300), { code: 'S1', stackable: true }),
      coupon(euros(300), { code: 'S2', stackable: true }),
    ]
    const reasons = (coupons: readonly CartCoupon[]) =>
      judge(cart, coupons).map((outcome) => ('refusal' in outcome ? outcome.refusal : 'applies'))
    expect(reasons([...stack, coupon(euros(500), { code: 'A' })])).toEqual([
      'applies',
      'applies',
      'not_stackable',
    ])
    expect(reasons([...stack, coupon(euros(601), { code: 'Z' })])).toEqual([
      'not_stackable',
      'not_stackable',
      'applies',
    ])
    expect(reasons([coupon(euros(5), { code: 'Z' }), coupon(euros(5), { code: 'B' })])).toEqual([
      'not_stackable',
      'applies',
    ])
    const ofOnePool = ['X2', 'X1'].map((code) => coupon(euros(5), { code, id: 'pool', stackable: true }))
    expect(reasons(ofOnePool)).toEqual(['not_stackable', 'applies'])
  })

  it('leaves a coupon out whose budget does not suffice, and chooses again', () => {
    const budget = (amount: number, used: number) => ({ amount, currency: 'EUR', used })
    const rich = coupon(euros(600), { code: 'A', budget: budget(1000, 401) })
    const other = coupon(euros(500), { code: 'B' })
    expect(judge(cart, [rich, other])).toMatchObject([{ refusal: 'budget_exhausted' }, { grant: {} }])
    expect(reasonOf(cart, coupon(euros(600), { budget: budget(1000, 400) }))).toBeUndefined()
    expect(reasonOf(cart, coupon(euros(600), { budget: budget(1000, 401) }))).toBe('budget_exhausted')
  })
})

describe('rules of a coupon', () => {
  const clothes = { includedCategories: ['clothes'] }

  it.each<[string, CouponRules, string | undefined]>([
    ['a minimum that is reached', { ...clothes, minimumAmount: 3990 }, undefined],
    ['a minimum that is not reached', { ...clothes, minimumAmount: 3991 }, 'minimum_not_reached'],
    ['a maximum that is not exceeded', { ...clothes, maximumAmount: 3990 }, undefined],
    ['a maximum that is exceeded', { ...clothes, maximumAmount: 3989 }, 'maximum_exceeded'],
    ['items of other categories only', { includedCategories: ['food'] }, 'no_eligible_items'],
    ['an item by its SKU or category', { includedSkus: ['mug'], ...clothes, minimumAmount: 6387 }, undefined],
    [
      'an exclusion, which wins',
      { includedSkus: ['mug'], excludedCategories: ['home'] },
      'no_eligible_items',
    ],
    ['names in another case', { includedSkus: ['MUG'] }, 'no_eligible_items'],
  ])('%s', (_what, rules, reason) => {
    expect(reasonOf(cart, withRules(rules, { ...tenPercent, currency: 'EUR' }))).toBe(reason)
  })

  it('are about the amount before discounts of other coupons', () => {
    const strict = coupon(
      { ...tenPercent, currency: 'EUR' },
      { code: 'Z', stackable: true, rules: { minimumAmount: 6387 } },
    )
    const half = coupon({ type: 'percent', value: 50 }, { code: 'A', stackable: true })
    expect(judge(cart, [half, strict])).toMatchObject([{ grant: {} }, { grant: {} }])
  })

  it('need the currency of the pool', () => {
    expect(reasonOf({ ...cart, currency: 'USD' }, coupon(euros(1)))).toBe('currency_mismatch')
    const budget = { amount: 1, currency: 'USD', used: 0 }
    expect(reasonOf(cart, coupon(tenPercent, { budget }))).toBe('currency_mismatch')
    expect(reasonOf({ ...cart, currency: 'USD' }, coupon(tenPercent))).toBeUndefined()
  })

  it('need enough units for buy_x_get_y, without free ones', () => {
    const free = (buyQuantity: number) => coupon({ type: 'buy_x_get_y', buyQuantity, getQuantity: 1 })
    expect(reasonOf(cart, free(4))).toBeUndefined()
    expect(reasonOf(cart, free(5))).toBe('quantity_not_reached')
  })

  it('may be about the person', () => {
    const traits = { plan: 'pro' }
    const condition = { '==': [{ var: 'traits.plan' }, 'pro'] }
    const shopper = { traits, hasOrdered: false }
    expect(reasonOf(cart, withRules({ condition }), shopper)).toBeUndefined()
    expect(reasonOf(cart, withRules({ condition }), { ...shopper, traits: {} })).toBe('condition_not_met')
    expect(reasonOf(cart, withRules({ condition }))).toBe('person_required')
    expect(reasonOf(cart, withRules({ firstOrderOnly: true }), shopper)).toBeUndefined()
    expect(reasonOf(cart, withRules({ firstOrderOnly: true }), { traits, hasOrdered: true })).toBe(
      'not_first_order',
    )
    expect(reasonOf(cart, withRules({ firstOrderOnly: false }))).toBeUndefined()
  })
})

describe('conditions of several coupons', () => {
  it('do not take the work of each other, in any order of codes', () => {
    // Takes two million steps of the budget for a person with 15,000 values.
    const seven = { or: [{ '==': [{ var: '' }, 7] }, { '==': [{ var: '' }, 8] }] }
    const rules = { condition: { '!': { some: [{ var: 'traits.seen' }, seven] } } }
    const shopper = { traits: { seen: Array.from({ length: 15_000 }, () => 1) }, hasOrdered: false }
    const codes = Array.from({ length: 10 }, (_, index) => `CODE${index}`)
    const amounts = (all: readonly string[]) => {
      const coupons = all.map((code) => coupon(euros(1), { code, rules, stackable: true }))
      return judge(cart, coupons, shopper).map((outcome) => ('grant' in outcome ? 1 : outcome.refusal))
    }
    expect(amounts(codes)).toEqual(codes.map(() => 1))
    expect(amounts(codes.toReversed())).toEqual(codes.map(() => 1))
  })
})

describe('any cart', () => {
  const names = fc.constantFrom('a', 'b', 'c', 'd')
  const items = fc.array(
    fc.record({
      sku: names,
      category: fc.constantFrom('x', 'y'),
      quantity: fc.integer({ min: 1, max: 30 }),
      unitAmount: fc.oneof(fc.integer({ min: 0, max: 20 }), fc.integer({ min: 0, max: 10_000_000_000 })),
    }),
    { minLength: 1, maxLength: 40 },
  )
  const discount: fc.Arbitrary<Discount> = fc.oneof(
    fc.record({ type: fc.constant('percent'), value: fc.integer({ min: 0, max: 1_000 }).map((n) => n / 10) }),
    fc.record({
      type: fc.constant('percent'),
      value: fc.integer({ min: 0, max: 100 }),
      maxAmount: fc.nat({ max: 1_000 }),
    }),
    fc.record({ type: fc.constant('amount'), value: fc.nat({ max: 100_000 }) }),
    fc.record({ type: fc.constant('free_shipping') }),
    fc.record({
      type: fc.constant('buy_x_get_y'),
      buyQuantity: fc.integer({ min: 1, max: 3 }),
      getQuantity: fc.integer({ min: 1, max: 3 }),
    }),
  )
  const coupons = fc
    .uniqueArray(
      fc.record({
        code: fc.stringMatching(/^[A-Z]{3}$/),
        discount,
        stackable: fc.boolean(),
        rules: fc.constantFrom<(CouponRules | null)[]>(
          null,
          { includedSkus: ['a', 'b'] },
          { excludedCategories: ['x'] },
        ),
      }),
      { selector: ({ code }) => code, maxLength: 5 },
    )
    .map((all) => all.map(({ code, discount, ...pool }) => coupon(discount, { code, ...pool })))
  const shipping = fc.nat({ max: 2_000 })

  it('gets discounts of lines between 0 and the line, which sum to those of the coupons', () => {
    fc.assert(
      fc.property(items, coupons, shipping, (lines, codes, shippingAmount) => {
        const outcomes = judge(cartOf(lines, shippingAmount), codes)
        const taken = lines.map(() => 0)
        let shippingTaken = 0
        for (const outcome of outcomes) {
          if ('refusal' in outcome) continue
          const { grant } = outcome
          const ofItems = grant.items.reduce((sum, share) => sum + share, 0)
          expect(ofItems + grant.shippingDiscountAmount).toBe(grant.discountAmount)
          grant.items.forEach((share, index) => {
            expect(Number.isSafeInteger(share) && share >= 0).toBe(true)
            taken[index] = (taken[index] ?? 0) + share
          })
          shippingTaken += grant.shippingDiscountAmount
        }
        lines.forEach(({ quantity, unitAmount }, index) => {
          expect(taken[index]).toBeLessThanOrEqual(quantity * unitAmount)
        })
        expect(shippingTaken).toBeLessThanOrEqual(shippingAmount)
      }),
    )
  })

  it('gets the same discounts in any order of its items and codes', () => {
    const shuffled = fc.tuple(items, coupons, shipping, fc.infiniteStream(fc.nat()))
    fc.assert(
      fc.property(shuffled, ([lines, codes, shippingAmount, keys]) => {
        const shuffle = <T>(values: readonly T[]) =>
          values
            .map((value) => ({ value, key: keys.next().value ?? 0 }))
            .sort((a, b) => a.key - b.key)
            .map(({ value }) => value)
        const [otherLines, otherCodes] = [shuffle(lines), shuffle(codes)]
        const describeAll = (ofLines: readonly CartItem[], ofCodes: readonly CartCoupon[]) => {
          const outcomes = judge(cartOf(ofLines, shippingAmount), ofCodes)
          return Object.fromEntries(
            ofCodes.map(({ code }, index) => {
              const outcome = outcomes[index]
              if (!outcome || 'refusal' in outcome) return [code, outcome?.refusal]
              const { items: shares, discountAmount } = outcome.grant
              // Equal lines may swap their discounts.
              const byLine = ofLines.map((line, index) => `${JSON.stringify(line)} ${shares[index]}`).sort()
              return [code, { discountAmount, byLine }]
            }),
          )
        }
        expect(describeAll(otherLines, otherCodes)).toEqual(describeAll(lines, codes))
      }),
    )
  })

  it('is countable up to 2^53 - 1', () => {
    const most = Number.MAX_SAFE_INTEGER
    expect(isCountable(cartOf([item('a', 1, most)]))).toBe(true)
    expect(isCountable(cartOf([item('a', 1, most)], 1))).toBe(false)
    expect(isCountable(cartOf([item('a', 2, 2 ** 52)]))).toBe(false)
    expect(
      grantOf(cartOf([item('a', 1, most)]), coupon({ type: 'percent', value: 100 })).discountAmount,
    ).toBe(most)
  })
})

describe('returned units', () => {
  const bought = [
    { ...item('a', 3, 100), discountAmount: 100 },
    { ...item('b', 2, 100), discountAmount: 5 },
    { ...item('a', 1, 50), discountAmount: 7 },
  ]

  it.each([
    [[{ sku: 'a', quantity: 1 }], 33],
    [[{ sku: 'a', quantity: 2 }], 67],
    [[{ sku: 'a', quantity: 3 }], 100],
    [[{ sku: 'a', quantity: 4 }], 107],
    [[{ sku: 'b', quantity: 1 }], 2],
    [[{ sku: 'c', quantity: 1 }], 0],
  ])('%j return %d', (returned, discount) => {
    expect(returnedDiscount(bought, returned)).toBe(discount)
  })
})
