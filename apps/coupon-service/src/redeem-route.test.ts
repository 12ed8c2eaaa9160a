import { AppError } from '@waymark/contracts/app-error'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parseRedeem } from './redeem-route.ts'

describe('a request to redeem', () => {
  it.each([
    ['no amount', {}],
    ['a currency alone', { currency: 'EUR' }],
    ['an amount of 0', { amount: 0, currency: 'EUR' }],
    ['a currency in lower case', { amount: 1, currency: 'jpy' }],
    ['the largest amount', { amount: Number.MAX_SAFE_INTEGER, currency: 'USD' }],
    ['ids with spaces', { userId: 'ann lee', orderId: '\u3000x' }],
    ['an id of 200 characters', { userId: 'x'.repeat(200) }],
  ])('accepts %s', (_what, fields) => {
    expect(() => parseRedeem({ code: 'A', ...fields })).not.toThrow()
  })

  it.each([
    ['an amount without a currency', { amount: 1 }, /^currency is required beside amount/],
    ['an amount without a currency by name', { amount: 0, currency: null }, /^currency is required/],
    ['a negative amount', { amount: -1, currency: 'EUR' }, /^amount .*0/],
    ['a fraction', { amount: 12.5, currency: 'EUR' }, /^amount .*integer/],
    ['an amount that is a text', { amount: '4990', currency: 'EUR' }, /^amount .*integer/],
    ['too large an amount', { amount: 2 ** 53, currency: 'EUR' }, /^amount /],
    ['an unknown currency', { currency: 'ABC' }, /^currency must be an ISO 4217 .*"ABC"/],
    ['a withdrawn currency', { currency: 'DEM' }, /^currency /],
    ['a currency of four letters', { amount: 1, currency: 'EURO' }, /^currency /],
    ['a user id of white space', { userId: ' \u00a0\u3000' }, /^userId must be printable characters/],
    ['an order id of white space', { orderId: ' ' }, /^orderId /],
    ['an event id of white space', { eventId: ' ' }, /^eventId /],
    ['a code of white space', { code: ' ' }, /^code must be more than white space/],
    ['an invisible code', { code: '\u200b\u2060' }, /^code must be more than white space and invisible/],
    ['an empty visitor id', { visitorId: '' }, /^visitorId /],
    [
      'a user id that is a bug',
      { userId: '[object Object]' },
      'userId must be an id, and no placeholder such as undefined, null, None or [object Object]; got "[object Object]"',
    ],
    ['an id of 201 characters', { userId: 'x'.repeat(201) }, /^userId /],
    ['an unknown field', { coupon: 'A' }, /^coupon is not a known field; allowed: code, .*metadata/],
  ])('refuses %s', (_what, fields, message) => {
    expect(() => parseRedeem({ code: 'A', ...fields })).toThrow(message)
  })

  it('only accepts integer amounts in minor units of a known currency', () => {
    const money = fc.record(
      {
        amount: fc.oneof(fc.integer(), fc.double(), fc.maxSafeInteger(), fc.jsonValue()),
        currency: fc.oneof(fc.constantFrom('EUR', 'usd', 'XXX'), fc.string(), fc.jsonValue()),
      },
      { requiredKeys: [] },
    )
    fc.assert(
      fc.property(money, (fields) => {
        try {
          const { amount, currency } = parseRedeem({ code: 'A', ...fields })
          if (amount === null) return
          expect(Number.isSafeInteger(amount) && amount >= 0).toBe(true)
          expect(currency).toMatch(/^[A-Z]{3}$/)
        } catch (error) {
          if (!(error instanceof AppError)) throw error
        }
      }),
    )
  })
})
