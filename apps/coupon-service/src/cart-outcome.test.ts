import { expect, it } from 'vitest'
import { refusedOf, type Wanted } from './cart-outcome.ts'
import type { Coupon } from './redeemable-coupon-queries.ts'

const NOW = Date.parse('2026-03-01T12:00:00Z')

const wanted = (code: string, outcome: Wanted['outcome'], expiresAt: Date | null = null): Wanted => {
  const pool = { status: 'ready', startsAt: null, expiresAt, maxRedemptions: null, rules: null, budget: null }
  return { coupon: { code, status: 'available', pool } as unknown as Coupon, outcome }
}
const granted = { granted: { discountAmount: 5, shippingDiscountAmount: 0, items: [] } }
const notStackable = { refusal: 'not_stackable' } as const
const expired = new Date(NOW)

it('names the coupon that the cart refuses', () => {
  const both = [wanted('GOOD', granted), wanted('ALONE', notStackable)]
  expect(refusedOf(both, NOW)?.coupon.code).toBe('ALONE')
  expect(refusedOf([wanted('GOOD', granted)], NOW)).toBeUndefined()
})

it('names a coupon that has expired before one that only does not combine with it', () => {
  const both = [wanted('GOOD', notStackable), wanted('LATE', granted, expired)]
  expect(refusedOf(both, NOW)?.coupon.code).toBe('LATE')
  expect(refusedOf(both, NOW - 1)?.coupon.code).toBe('GOOD')
})
