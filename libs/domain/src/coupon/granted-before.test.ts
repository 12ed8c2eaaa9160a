import type { CartItem } from '@waymark/contracts/http/cart'
import type { GrantedItem } from '@waymark/contracts/http/coupon-views'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { discountCart } from './cart-discount.ts'
import type { CartCoupon } from './grant.ts'
import { grantedBefore, type OrderRedemption } from './granted-before.ts'

const line = (sku: string, quantity: number, unitAmount: number): CartItem => ({ sku, quantity, unitAmount })
const granted = (item: CartItem, discountAmount: number): GrantedItem => ({ ...item, discountAmount })
const pool = (id: string, stackable = true) => ({ id, stackable })
const [shirt, mug] = [line('shirt', 2, 1000), line('mug', 1, 500)]

describe('what redemptions of an order granted', () => {
  it('is summed for each line, in any order of the lines', () => {
    const redemptions = [
      { items: [granted(shirt, 100), granted(mug, 50)], shippingAmount: 10, pool: pool('a') },
      { items: [granted(mug, 7), granted(shirt, 20)], shippingAmount: 5, pool: pool('b') },
    ]
    expect(grantedBefore([mug, shirt], redemptions)).toEqual({
      items: [57, 120],
      shippingAmount: 15,
      pools: [pool('a'), pool('b')],
    })
    expect(grantedBefore([mug], [])).toEqual({ items: [0], shippingAmount: 0, pools: [] })
  })

  it('is counted once for each of several equal lines', () => {
    const items = [granted(shirt, 100), granted(shirt, 30)]
    const redemptions = [{ items, shippingAmount: 0, pool: pool('a') }]
    expect(grantedBefore([shirt, shirt], redemptions)?.items).toEqual([100, 30])
  })

  it.each([
    ['a further line', [shirt, mug, mug]],
    ['a missing line', [shirt]],
    ['another price', [shirt, line('mug', 1, 499)]],
    ['another quantity', [shirt, line('mug', 2, 500)]],
    ['another SKU', [shirt, line('cup', 1, 500)]],
    ['another category', [shirt, { ...mug, category: 'home' }]],
  ])('is unknown for a cart with %s', (_what, items) => {
    const of = [granted(shirt, 100), granted(mug, 50)]
    expect(grantedBefore(items, [{ items: of, shippingAmount: 0, pool: pool('a') }])).toBeUndefined()
  })
})

describe('coupons of an order that are redeemed one after another', () => {
  const items = fc.array(
    fc.record({
      sku: fc.constantFrom('a', 'b', 'c'),
      quantity: fc.integer({ min: 1, max: 9 }),
      unitAmount: fc.oneof(fc.integer({ min: 0, max: 20 }), fc.integer({ min: 0, max: 1_000_000_000 })),
    }),
    { minLength: 1, maxLength: 12 },
  )
  const discount = fc.oneof(
    fc.record({ type: fc.constant('percent'), value: fc.integer({ min: 0, max: 1_000 }).map((n) => n / 10) }),
    fc.record({ type: fc.constant('amount'), value: fc.nat({ max: 100_000 }) }),
    fc.record({ type: fc.constant('free_shipping') }),
    fc.record({
      type: fc.constant('buy_x_get_y'),
      buyQuantity: fc.integer({ min: 1, max: 3 }),
      getQuantity: fc.integer({ min: 1, max: 3 }),
    }),
  )
  const coupons = fc.array(fc.record({ discount, stackable: fc.boolean() }), { maxLength: 5 }).map((all) =>
    all.map(({ discount, stackable }, n): CartCoupon => {
      const code = `C${n}`
      return { code, pool: { id: code, discount, rules: null, stackable, priority: 0, budget: null } }
    }),
  )

  it('never get more than the lines and the shipping cost', () => {
    fc.assert(
      fc.property(items, coupons, fc.nat({ max: 2_000 }), (lines, codes, shippingAmount) => {
        const earlier: OrderRedemption[] = []
        for (const coupon of codes) {
          const before = grantedBefore(lines, earlier)
          if (!before) throw new Error('the lines are the same')
          const cart = { currency: 'EUR', items: lines, shippingAmount }
          const [outcome] = discountCart(
            { ...cart, ...(earlier.length > 0 && { granted: before }) },
            [coupon],
            undefined,
          )
          const isRefused = outcome === undefined || 'refusal' in outcome
          const isCombined =
            earlier.length === 0 || (coupon.pool.stackable && earlier.every(({ pool }) => pool.stackable))
          if (!isCombined) expect(isRefused).toBe(true)
          if (isRefused) continue
          const { items: shares, shippingDiscountAmount, discountAmount } = outcome.grant
          expect(shares.reduce((sum, share) => sum + share, 0) + shippingDiscountAmount).toBe(discountAmount)
          expect(shares.every((share) => Number.isSafeInteger(share) && share >= 0)).toBe(true)
          earlier.push({
            items: lines.map((item, index) => granted(item, shares[index] ?? 0)),
            shippingAmount: shippingDiscountAmount,
            pool: coupon.pool,
          })
        }
        const all = grantedBefore(lines, earlier)
        lines.forEach(({ quantity, unitAmount }, index) => {
          expect(all?.items[index]).toBeLessThanOrEqual(quantity * unitAmount)
        })
        expect(all?.shippingAmount).toBeLessThanOrEqual(shippingAmount)
      }),
    )
  })

  it('are refused for the pool of an earlier one', () => {
    const one: CartCoupon = {
      code: 'X2',
      pool: {
        id: 'a',
        discount: { type: 'percent', value: 10 },
        rules: null,
        stackable: true,
        priority: 0,
        budget: null,
      },
    }
    const cart = { currency: 'EUR', items: [mug], shippingAmount: 0 }
    const before = grantedBefore(cart.items, [
      { items: [granted(mug, 50)], shippingAmount: 0, pool: pool('a') },
    ])
    const outcomes = discountCart({ ...cart, ...(before && { granted: before }) }, [one], undefined)
    expect(outcomes).toEqual([{ refusal: 'not_stackable' }])
  })
})
