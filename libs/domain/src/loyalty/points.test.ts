import { MAX_POINTS } from '@waymark/contracts/loyalty'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { earnedPoints, monthsAfter, spendPoints, takeFromLots, tierOf } from './points.ts'

const selectorId = 'orders'
const order = (amount: number | null, currency: string | null = 'EUR', properties = {}) => ({
  conversions: [{ selectorId, amount, currency, quantity: null }],
  properties,
})
const perEuro = { selectorId, points: 1, perAmount: 100, currency: 'EUR' }

describe('points that an event earns', () => {
  it.each([
    [1_995, 1, 100, 19],
    [1_995, 5, 100, 99],
    [99, 1, 100, undefined],
    [100, 1, 100, 1],
    [Number.MAX_SAFE_INTEGER, 3, 1, MAX_POINTS],
  ])('of %i at %i per %i are rounded down', (amount, points, perAmount, expected) => {
    expect(earnedPoints([{ ...perEuro, points, perAmount }], order(amount))?.points).toBe(expected)
  })

  it('are none in another currency, for a refund, and without the conversion', () => {
    expect(earnedPoints([perEuro], order(1_000, 'USD'))).toBeUndefined()
    expect(earnedPoints([perEuro], order(-1_000))).toBeUndefined()
    expect(earnedPoints([perEuro], order(null, null))).toBeUndefined()
    expect(earnedPoints([{ selectorId: 'reviews', points: 5 }], order(1_000))).toBeUndefined()
  })

  it('are the sum of all rules, for the order that the event names', () => {
    const rules = [perEuro, { selectorId, points: 50, orderProperty: 'order_no' }]
    expect(earnedPoints(rules, order(1_000, 'EUR', { orderId: 'A-1' }))).toEqual({
      points: 60,
      orderId: 'A-1',
    })
    expect(earnedPoints(rules, order(1_000, 'EUR', { order_no: 17 }))).toEqual({ points: 60, orderId: '17' })
    for (const orderId of ['x'.repeat(201), 'a\u0000', '', null, { id: 1 }])
      expect(earnedPoints(rules, order(1_000, 'EUR', { orderId }))).toEqual({ points: 60, orderId: null })
  })
})

it('expire on the last day of a shorter month', () => {
  const time = (text: string) => new Date(`${text}T10:00:00Z`)
  expect(monthsAfter(time('2026-08-31'), 6)).toEqual(time('2027-02-28'))
  expect(monthsAfter(time('2026-01-15'), 12)).toEqual(time('2027-01-15'))
})

describe('points that are spent', () => {
  const rate = { points: 3, amount: 2, currency: 'EUR' }

  it.each([
    [100, 1_000, 99, 66],
    [100, 10, 15, 10],
    [1, 1_000, 0, 0],
    [100, 0, 0, 0],
  ])('of %i for %i due are %i, worth %i', (available, due, points, amount) => {
    expect(spendPoints(rate, available, due)).toEqual({ points, amount })
  })

  it('are the fewest that are worth as much, and no more than there are', () => {
    const many = fc.integer({ min: 1, max: MAX_POINTS })
    fc.assert(
      fc.property(many, many, fc.nat(MAX_POINTS), fc.nat(), (points, amount, available, due) => {
        const spent = spendPoints({ points, amount, currency: 'EUR' }, available, due)
        const worth = (count: number) => (BigInt(count) * BigInt(amount)) / BigInt(points)
        expect(spent.points).toBeLessThanOrEqual(available)
        expect(spent.amount).toBeLessThanOrEqual(due)
        expect(worth(spent.points) >= BigInt(spent.amount)).toBe(true)
        if (spent.points > 0) expect(worth(spent.points - 1) < BigInt(spent.amount)).toBe(true)
      }),
    )
  })

  it('are taken from the first lots, and amount to what was wanted or all', () => {
    const sizes = fc.array(fc.nat(1_000), { maxLength: 20 })
    fc.assert(
      fc.property(sizes, fc.nat(5_000), (points, wanted) => {
        const lots = points.map((size, index) => ({ id: `${index}`, accountId: 'a', points: size }))
        const taken = takeFromLots(lots, wanted)
        const sum = (of: readonly { points: number }[]) => of.reduce((all, lot) => all + lot.points, 0)
        expect(sum(taken)).toBe(Math.min(sum(lots), wanted))
        const last = taken.at(-1)
        for (const lot of lots.slice(0, Number(last?.id ?? 0)))
          if (lot.points > 0) expect(taken).toContainEqual(lot)
      }),
    )
  })
})

it('a tier is the last one that a person reaches, by points or by a segment', () => {
  const tiers = [
    { key: 'basic', name: 'Basic', points: 0 },
    { key: 'silver', name: 'Silver', points: 100 },
    { key: 'staff', name: 'Staff', segment: 'staff' },
  ]
  const of = (earned: number, isStaff = false) => tierOf(tiers, earned, () => isStaff)?.key
  expect([of(0), of(99), of(100), of(0, true)]).toEqual(['basic', 'basic', 'silver', 'staff'])
})
