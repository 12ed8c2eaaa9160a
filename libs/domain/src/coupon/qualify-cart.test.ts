import type { CartItem } from '@waymark/contracts/http/cart'
import type { CouponRules, Discount } from '@waymark/contracts/http/coupon-views'
import fc from 'fast-check'
import { describe, expect, it, vi } from 'vitest'
import { discountCart } from './cart-discount.ts'
import type { Cart, CartPool, Shopper } from './cart-rules.ts'
import type { CartCoupon, Grant } from './grant.ts'
import { MAX_COMPARED, qualifyCart } from './qualify-cart.ts'

const euros = (value: number): Discount => ({ type: 'amount', value, currency: 'EUR' })
const percent = (value: number): Discount => ({ type: 'percent', value })
const candidate = (code: string, discount: Discount, pool: Partial<CartPool> = {}): CartCoupon => ({
  code,
  pool: { id: code, discount, rules: null, stackable: true, priority: 0, budget: null, ...pool },
})
const item = (sku: string, quantity: number, unitAmount: number): CartItem => ({ sku, quantity, unitAmount })
const cartOf = (items: readonly CartItem[], shippingAmount = 0): Cart => ({
  currency: 'EUR',
  items,
  shippingAmount,
})
const IN_ONE_TURN = { isOver: () => false, next: async () => {} }
const qualify = (cart: Cart, candidates: readonly CartCoupon[], shopper?: Shopper) =>
  qualifyCart(cart, candidates, shopper, IN_ONE_TURN)
const bestOf = async (cart: Cart, candidates: readonly CartCoupon[]): Promise<Record<string, number>> =>
  Object.fromEntries(
    [...(await qualify(cart, candidates)).best].map(([{ code }, { discountAmount }]) => [
      code,
      discountAmount,
    ]),
  )
const totalOf = (grants: Iterable<Grant>): number =>
  [...grants].reduce((sum, { discountAmount }) => sum + discountAmount, 0)

const cart = cartOf([item('shirt', 2, 1995), item('mug', 1, 799)], 490)

describe('the best combination', () => {
  it('grants each what the ones before leave', async () => {
    // 10 % of 4789 is 478.9; then 500 of 4310, and the shipping.
    const all = [
      candidate('A', euros(500)),
      candidate('B', percent(10)),
      candidate('C', { type: 'free_shipping' }),
    ]
    expect(await bestOf(cart, all)).toEqual({ A: 500, B: 479, C: 490 })
  })

  it('is one that is not stackable if it grants more', async () => {
    const single = (code: string, value: number) => candidate(code, euros(value), { stackable: false })
    const stackable = [candidate('S1', euros(300)), candidate('S2', euros(300))]
    expect(await bestOf(cart, [...stackable, single('A', 600)])).toEqual({ S1: 300, S2: 300 })
    expect(await bestOf(cart, [...stackable, single('A', 601), single('B', 601)])).toEqual({ A: 601 })
  })

  it('leaves out what makes the others grant less', async () => {
    // A frees one of the three units of X, which are too few for B then.
    const items = cartOf([item('x', 3, 1000), item('y', 1, 1100)])
    const free = (buyQuantity: number, getQuantity: number): Discount => ({
      type: 'buy_x_get_y',
      buyQuantity,
      getQuantity,
    })
    const a = candidate('A', free(3, 1))
    const b = candidate('B', free(1, 2), { rules: { includedSkus: ['x'] } })
    expect(await bestOf(items, [a, b])).toEqual({ B: 2000 })
  })

  it('has one coupon of each pool', async () => {
    expect(
      await bestOf(
        cart,
        ['X2', 'X1'].map((code) => candidate(code, euros(5), { id: 'pool' })),
      ),
    ).toEqual({ X1: 5 })
  })

  it('prefers higher priorities, which also apply first, then lower codes', async () => {
    const single = (code: string, priority: number) =>
      candidate(code, euros(5), { stackable: false, priority })
    expect(await bestOf(cart, [single('A', 1), single('B', 2), single('C', 2)])).toEqual({ B: 5 })
    expect(
      await bestOf(cart, [candidate('A', percent(50)), candidate('B', percent(10), { priority: 1 })]),
    ).toEqual({
      A: 2155,
      B: 479,
    })
  })

  it('leaves out what would grant nothing, unless the shop applies it', async () => {
    const points = candidate('P', { type: 'points' })
    expect(await bestOf(cartOf(cart.items), [candidate('F', { type: 'free_shipping' }), points])).toEqual({
      P: 0,
    })
  })

  it('stays within the budgets', async () => {
    const budget = { amount: 1000, currency: 'EUR', used: 501 }
    const small = candidate('A', euros(500), { budget, priority: 9 })
    const { qualifications, best } = await qualify(cart, [small, candidate('B', euros(20))])
    expect(qualifications).toMatchObject([{ refusal: 'budget_exhausted' }, { grant: { discountAmount: 20 } }])
    expect([...best.keys()].map(({ code }) => code)).toEqual(['B'])
  })

  it(`of more than ${MAX_COMPARED} is all stackable ones, or one that is not`, async () => {
    const many = Array.from({ length: MAX_COMPARED + 1 }, (_, n) => candidate(`S${n}`, euros(10)))
    expect(await bestOf(cart, many)).toEqual(Object.fromEntries(many.map(({ code }) => [code, 10])))
    expect(await bestOf(cart, [...many, candidate('A', euros(91), { stackable: false })])).toEqual({ A: 91 })
  })
})

describe('what a cart lacks', () => {
  const missingOf = async (rules: CouponRules, discount: Discount = euros(5), shopper?: Shopper) => {
    const { qualifications } = await qualify(cart, [candidate('A', discount, { rules })], shopper)
    const [one] = qualifications
    return one && 'refusal' in one ? [one.refusal, one.missing] : []
  }

  it('is an amount up to the minimum', async () => {
    expect(await missingOf({ minimumAmount: 4790 })).toEqual(['minimum_not_reached', { amount: 1 }])
    expect(await missingOf({ minimumAmount: 4789 })).toEqual([])
    expect(await missingOf({ minimumAmount: 1000, includedSkus: ['mug'] })).toEqual([
      'minimum_not_reached',
      { amount: 201 },
    ])
  })

  it('is a number of units', async () => {
    const five: Discount = { type: 'buy_x_get_y', buyQuantity: 4, getQuantity: 1 }
    expect(await missingOf({}, five)).toEqual(['quantity_not_reached', { quantity: 2 }])
    expect(await missingOf({ minimumAmount: 5000 }, { ...five, currency: 'EUR' })).toEqual([
      'minimum_not_reached',
      { amount: 211, quantity: 2 },
    ])
  })

  it('is unknown when more items would not do', async () => {
    expect(await missingOf({ minimumAmount: 5000, firstOrderOnly: true })).toEqual([
      'minimum_not_reached',
      undefined,
    ])
    const known = { traits: {}, hasOrdered: true }
    expect(await missingOf({ minimumAmount: 5000, firstOrderOnly: true }, euros(5), known)).toEqual([
      'minimum_not_reached',
      undefined,
    ])
    expect(await missingOf({ maximumAmount: 4788 })).toEqual(['maximum_exceeded', undefined])
    expect(await missingOf({ minimumAmount: 5000 }, { ...euros(5), currency: 'USD' })).toEqual([
      'currency_mismatch',
      undefined,
    ])
  })
})

describe('many candidates', () => {
  it('let others continue before each of them when a turn is over', async () => {
    const next = vi.fn(async () => {})
    const all = Array.from({ length: 20 }, (_, n) => candidate(`C${n}`, euros(1)))
    const { qualifications } = await qualifyCart(cart, all, undefined, { isOver: () => true, next })
    expect(qualifications).toHaveLength(20)
    expect(next).toHaveBeenCalledTimes(20)
  })
})

describe('conditions of many candidates', () => {
  it('share the work equally, in any order', async () => {
    // Takes more than a fortieth of the work for a person with 15,000 values, and less than a tenth.
    const seven = { or: [{ '==': [{ var: '' }, 7] }, { '==': [{ var: '' }, 8] }] }
    const rules = { condition: { '!': { some: [{ var: 'traits.seen' }, seven] } } }
    const shopper = { traits: { seen: Array.from({ length: 15_000 }, () => 1) }, hasOrdered: false }
    const refusals = async (count: number) => {
      const all = Array.from({ length: count }, (_, n) => candidate(`C${n}`, euros(1), { rules }))
      const { qualifications } = await qualify(cart, all, shopper)
      return new Set(qualifications.map((one) => ('refusal' in one ? one.refusal : 'applies')))
    }
    expect(await refusals(10)).toEqual(new Set(['applies']))
    expect(await refusals(40)).toEqual(new Set(['condition_not_met']))
  })
})

describe('any cart and candidates', () => {
  const items = fc.array(
    fc.record({
      sku: fc.constantFrom('a', 'b', 'c'),
      quantity: fc.integer({ min: 1, max: 6 }),
      unitAmount: fc.nat({ max: 3_000 }),
    }),
    { minLength: 1, maxLength: 6 },
  )
  const discount: fc.Arbitrary<Discount> = fc.oneof(
    fc.integer({ min: 0, max: 100 }).map(percent),
    fc.nat({ max: 5_000 }).map(euros),
    fc.record({ type: fc.constant('percent'), value: fc.nat({ max: 100 }), maxAmount: fc.nat({ max: 500 }) }),
    fc.record({ type: fc.constantFrom('free_shipping', 'points') }),
    fc.record({
      type: fc.constant('buy_x_get_y'),
      buyQuantity: fc.integer({ min: 1, max: 3 }),
      getQuantity: fc.integer({ min: 1, max: 3 }),
    }),
  )
  const rules = fc.constantFrom<(CouponRules | null)[]>(
    null,
    { includedSkus: ['a'] },
    { excludedSkus: ['b'] },
    { minimumAmount: 2_000 },
  )
  const candidatesUpTo = (maxLength: number) =>
    fc
      .uniqueArray(
        fc.record({
          code: fc.stringMatching(/^[A-Z]{2}$/),
          id: fc.constantFrom('', 'one', 'two'),
          discount,
          rules,
          stackable: fc.boolean(),
          priority: fc.nat({ max: 2 }),
          amount: fc.option(fc.nat({ max: 3_000 })),
        }),
        { selector: ({ code }) => code, maxLength },
      )
      .map((all) => {
        // The coupons of one pool share its terms.
        const pools = new Map<string, CartPool>()
        return all.map(({ code, id, amount, ...pool }): CartCoupon => {
          const budget = amount === null ? null : { amount, currency: 'EUR', used: 0 }
          const known = pools.get(id) ?? { ...pool, id: id || code, budget }
          if (id !== '') pools.set(id, known)
          return { code, pool: known }
        })
      })
  const shipping = fc.nat({ max: 1_000 })

  /** What redeeming exactly these would grant; undefined when they are not granted together. */
  const redeemed = (ofCart: Cart, coupons: readonly CartCoupon[]): Grant[] | undefined => {
    const outcomes = discountCart(ofCart, coupons, undefined)
    const grants = outcomes.flatMap((outcome) => ('grant' in outcome ? [outcome.grant] : []))
    return grants.length === coupons.length ? grants : undefined
  }

  it(`get the most that any of the combinations of up to ${MAX_COMPARED} grants`, async () => {
    await fc.assert(
      fc.asyncProperty(
        items,
        candidatesUpTo(MAX_COMPARED),
        shipping,
        async (lines, candidates, shippingAmount) => {
          const ofCart = cartOf(lines, shippingAmount)
          const { qualifications, best } = await qualify(ofCart, candidates)
          const qualified = candidates.filter((_, index) => 'grant' in (qualifications[index] ?? {}))
          const most = Array.from({ length: 2 ** qualified.length }, (_, members) => {
            const chosen = qualified.filter((_, index) => (members >> index) % 2 === 1)
            return totalOf(redeemed(ofCart, chosen) ?? [])
          })
          expect(totalOf(best.values())).toBe(Math.max(...most))
        },
      ),
    )
  })

  it('get what redeeming the combination grants, never more than the cart costs', async () => {
    await fc.assert(
      fc.asyncProperty(items, candidatesUpTo(12), shipping, async (lines, candidates, shippingAmount) => {
        const ofCart = cartOf(lines, shippingAmount)
        const { best } = await qualify(ofCart, candidates)
        expect(redeemed(ofCart, [...best.keys()])).toEqual([...best.values()])
        const grants = [...best.values()]
        for (const { discountAmount, items: shares, shippingDiscountAmount } of grants) {
          expect(shares.every((share) => share >= 0) && shippingDiscountAmount >= 0).toBe(true)
          expect(shares.reduce((sum, share) => sum + share, shippingDiscountAmount)).toBe(discountAmount)
        }
        lines.forEach(({ quantity, unitAmount }, index) => {
          const taken = grants.reduce((sum, { items: shares }) => sum + (shares[index] ?? 0), 0)
          expect(taken).toBeLessThanOrEqual(quantity * unitAmount)
        })
      }),
    )
  })

  it('get the same in any order of items and candidates', async () => {
    const shuffled = fc.tuple(items, candidatesUpTo(12), shipping, fc.infiniteStream(fc.nat()))
    await fc.assert(
      fc.asyncProperty(shuffled, async ([lines, candidates, shippingAmount, keys]) => {
        const shuffle = <T>(values: readonly T[]) =>
          values
            .map((value) => ({ value, key: keys.next().value ?? 0 }))
            .sort((a, b) => a.key - b.key)
            .map(({ value }) => value)
        const describeAll = async (ofLines: readonly CartItem[], ofCandidates: readonly CartCoupon[]) => {
          const { qualifications, best } = await qualify(cartOf(ofLines, shippingAmount), ofCandidates)
          // Equal lines may swap their discounts.
          const viewOf = ({ discountAmount, items: shares }: Grant) => ({
            discountAmount,
            byLine: ofLines.map((line, index) => `${JSON.stringify(line)} ${shares[index]}`).sort(),
          })
          return {
            best: Object.fromEntries([...best].map(([{ code }, grant]) => [code, viewOf(grant)])),
            all: Object.fromEntries(
              ofCandidates.map(({ code }, index) => {
                const one = qualifications[index]
                return [code, one && 'grant' in one ? viewOf(one.grant) : one]
              }),
            ),
          }
        }
        expect(await describeAll(shuffle(lines), shuffle(candidates))).toEqual(
          await describeAll(lines, candidates),
        )
      }),
    )
  })
})
