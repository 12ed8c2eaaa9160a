import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { amountDue, payWith } from './card-payment.ts'

const card = (code: string, balance: number, expiresAt: string | null = null) => ({
  code,
  balance,
  expiresAt: expiresAt === null ? null : new Date(expiresAt),
})
const amounts = (...args: Parameters<typeof payWith>) =>
  payWith(...args).map(({ card: { code }, amount }) => `${code} ${amount}`)

describe('payments with gift cards', () => {
  it('use what expires first, then the lower code, and each only as far as something is due', () => {
    const cards = [card('C', 500), card('B', 500), card('A', 300, '2027-01-01')]
    expect(amounts(cards, 0)).toEqual(['A 0', 'B 0', 'C 0'])
    expect(amounts(cards, 300)).toEqual(['A 300', 'B 0', 'C 0'])
    expect(amounts(cards, 301)).toEqual(['A 300', 'B 1', 'C 0'])
    expect(amounts(cards, 2_000)).toEqual(['A 300', 'B 500', 'C 500'])
    expect(amounts(cards, -1)).toEqual(['A 0', 'B 0', 'C 0'])
    expect(amountDue(2_000, [300, 500])).toBe(1_200)
    expect(amountDue(100, [300])).toBe(0)
  })

  it('never exceed a balance or what is due, pay as much as they can, in any order of the request', () => {
    const balance = fc.integer({ min: 0, max: 100_000_000_000 })
    const end = fc.option(fc.date({ noInvalidDate: true }))
    const cards = fc.uniqueArray(fc.record({ code: fc.string(), balance, expiresAt: end }), {
      selector: ({ code }) => code,
      maxLength: 10,
    })
    fc.assert(
      fc.property(cards, fc.nat(Number.MAX_SAFE_INTEGER), (given, due) => {
        const paid = payWith(given, due)
        for (const { card: one, amount } of paid) {
          expect(amount).toBeGreaterThanOrEqual(0)
          expect(amount).toBeLessThanOrEqual(one.balance)
        }
        const sum = paid.reduce((total, { amount }) => total + amount, 0)
        const held = given.reduce((total, one) => total + one.balance, 0)
        expect(sum).toBe(Math.min(held, due))
        expect(payWith(given.toReversed(), due)).toEqual(paid)
      }),
    )
  })
})
