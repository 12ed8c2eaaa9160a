import type { CartItem } from '@waymark/contracts/http/cart'
import type { CouponRules, Discount } from '@waymark/contracts/http/coupon-views'
import { describe, expect, it } from 'vitest'
import { discountCart } from './cart-discount.ts'
import type { CartCoupon } from './grant.ts'

// A second calculation, step by step in bigint, that shares no code with the first.

type HandLine = { sku: string; category: string; unit: bigint; quantity: bigint; left: bigint }
type HandResult = { discountAmount: bigint; items: bigint[]; rest: bigint }

const CATEGORIES = ['books', 'shoes', 'toys', 'wine']
const items = Array.from({ length: 100 }, (_, n): CartItem & { category: string } => ({
  sku: `sku-${`${n}`.padStart(3, '0')}`,
  category: CATEGORIES[n % 4] ?? '',
  quantity: 1 + (n % 7),
  unitAmount: 37 * n + (n % 13),
}))
const SHIPPING = 890

const halfToEven = (dividend: bigint, divisor: bigint): bigint => {
  const floor = dividend / divisor
  const doubled = 2n * (dividend - floor * divisor)
  if (doubled < divisor) return floor
  if (doubled > divisor) return floor + 1n
  return floor % 2n === 0n ? floor : floor + 1n
}
const sum = (amounts: readonly bigint[]): bigint => {
  let total = 0n
  for (const amount of amounts) total += amount
  return total
}

/** Takes `numerator / denominator` of each of the chosen lines, and the rest of `total` from the largest. */
const take = (
  lines: HandLine[],
  chosen: (line: HandLine) => boolean,
  [total, numerator, denominator]: readonly [bigint, bigint, bigint],
): HandResult => {
  const shares = lines.map((line) => (chosen(line) ? halfToEven(line.left * numerator, denominator) : 0n))
  const rest = total - sum(shares)
  let largest = -1
  lines.forEach((line, index) => {
    if (chosen(line) && (largest === -1 || line.left > (lines[largest]?.left ?? 0n))) largest = index
  })
  shares[largest] = (shares[largest] ?? 0n) + rest
  lines.forEach((line, index) => {
    line.left -= shares[index] ?? 0n
  })
  return { discountAmount: total, items: shares, rest }
}
const amountLeft = (lines: readonly HandLine[], chosen: (line: HandLine) => boolean) =>
  sum(lines.filter(chosen).map(({ left }) => left))

/** Every unit by itself: of three, the cheapest one is free. */
const freeUnits = (lines: HandLine[], chosen: (line: HandLine) => boolean): HandResult => {
  const units = lines.flatMap((line, index) =>
    chosen(line) && line.unit > 0n ? Array.from({ length: Number(line.quantity) }, () => index) : [],
  )
  const cheapestFirst = units.sort((a, b) => Number((lines[a]?.unit ?? 0n) - (lines[b]?.unit ?? 0n)))
  const shares = lines.map(() => 0n)
  for (const index of cheapestFirst.slice(0, Math.floor(units.length / 3)))
    shares[index] = (shares[index] ?? 0n) + (lines[index]?.unit ?? 0n)
  lines.forEach((line, index) => {
    line.left -= shares[index] ?? 0n
  })
  return { discountAmount: sum(shares), items: shares, rest: 0n }
}

const coupon = (code: string, discount: Discount, rules: CouponRules | null = null): CartCoupon => ({
  code,
  pool: { id: code, discount, rules, stackable: true, priority: 0, budget: null },
})

describe("a shop's cart of 100 lines", () => {
  it('gets from coupons of all kinds what a calculation by hand gives', () => {
    const coupons = [
      coupon('OFF-25-EUROS', { type: 'amount', value: 2500, currency: 'EUR' }),
      coupon('SHIP', { type: 'free_shipping', currency: 'EUR', maxAmount: 700 }),
      coupon(
        'SHOES-30-CAPPED',
        { type: 'percent', value: 30, currency: 'EUR', maxAmount: 5003 },
        { includedCategories: ['shoes'], excludedSkus: ['sku-013'] },
      ),
      coupon(
        'EIGHTH',
        { type: 'percent', value: 12.5 },
        { excludedCategories: ['wine'], minimumAmount: 100_000 },
      ),
      coupon(
        'THIRD-BOOK',
        { type: 'buy_x_get_y', buyQuantity: 2, getQuantity: 1 },
        { includedCategories: ['books'], includedSkus: ['sku-001', 'sku-002'], excludedSkus: ['sku-004'] },
      ),
    ]
    const outcomes = discountCart({ currency: 'EUR', items, shippingAmount: SHIPPING }, coupons, undefined)

    const lines = items.map(({ sku, category, quantity, unitAmount }): HandLine => {
      const [unit, units] = [BigInt(unitAmount), BigInt(quantity)]
      return { sku, category, unit, quantity: units, left: unit * units }
    })
    const whole = sum(lines.map(({ left }) => left))
    const isBook = ({ sku, category }: HandLine) =>
      sku !== 'sku-004' && (category === 'books' || sku === 'sku-001' || sku === 'sku-002')
    const books = freeUnits(lines, isBook)
    const isDry = ({ category }: HandLine) => category !== 'wine'
    const eighth = take(lines, isDry, [halfToEven(amountLeft(lines, isDry), 8n), 1n, 8n])
    const isShoe = ({ sku, category }: HandLine) => category === 'shoes' && sku !== 'sku-013'
    const ofShoes = amountLeft(lines, isShoe)
    // 30 % would be more than the cap.
    expect(halfToEven(ofShoes * 3n, 10n)).toBeGreaterThan(5003n)
    const shoes = take(lines, isShoe, [5003n, 5003n, ofShoes])
    const left = amountLeft(lines, () => true)
    const euros = take(lines, () => true, [2500n, 2500n, left])

    const ofItems = (index: number) => {
      const outcome = outcomes[index]
      if (!outcome || !('grant' in outcome)) throw new Error(`refused: ${outcome?.refusal}`)
      const { discountAmount, items: shares, shippingDiscountAmount } = outcome.grant
      return { discountAmount: BigInt(discountAmount), items: shares.map(BigInt), shippingDiscountAmount }
    }
    const expected = ({ discountAmount, items }: HandResult) => ({
      discountAmount,
      items,
      shippingDiscountAmount: 0,
    })
    expect(ofItems(0)).toEqual(expected(euros))
    expect(ofItems(1)).toEqual({
      discountAmount: 700n,
      items: lines.map(() => 0n),
      shippingDiscountAmount: 700,
    })
    expect(ofItems(2)).toEqual(expected(shoes))
    expect(ofItems(3)).toEqual(expected(eighth))
    expect(ofItems(4)).toEqual(expected(books))
    const granted = sum([euros, shoes, eighth, books].map(({ discountAmount }) => discountAmount))
    expect(granted + sum(lines.map(({ left }) => left))).toBe(whole)
    // The example exercises each step: something is free, and each division leaves a rest for the largest line.
    expect(books.discountAmount).toBeGreaterThan(0n)
    for (const { rest } of [eighth, shoes, euros]) expect(rest).not.toBe(0n)
  })
})
