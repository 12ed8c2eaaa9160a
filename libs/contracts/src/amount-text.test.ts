import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { amountOfDecimal, decimalOf } from './amount-text.ts'

describe('amounts as decimals', () => {
  it.each([
    ['25', 'EUR', 2_500],
    ['25.5', 'EUR', 2_550],
    [' 0.05 ', 'EUR', 5],
    ['25', 'JPY', 25],
    ['1.250', 'KWD', 1_250],
    ['25.001', 'EUR', undefined],
    ['25.0', 'JPY', undefined],
    ['25,00', 'EUR', undefined],
    ['1e3', 'EUR', undefined],
    ['-1', 'EUR', undefined],
    ['', 'EUR', undefined],
    ['99999999999999999', 'EUR', undefined],
  ])('%s %s', (text, currency, amount) => {
    expect(amountOfDecimal(text, currency)).toBe(amount)
  })

  it.each([
    [-5, 'EUR', '-0.05'],
    [-2_500, 'EUR', '-25.00'],
    [-25, 'JPY', '-25'],
    [0, 'EUR', '0.00'],
  ])('%d %s', (amount, currency, text) => {
    expect(decimalOf(amount, currency)).toBe(text)
  })

  it('are exact in both directions', () => {
    const amount = fc.integer({ min: 0, max: 10 ** 11 })
    fc.assert(
      fc.property(amount, fc.constantFrom('EUR', 'JPY', 'KWD', 'CLF'), (minor, currency) => {
        expect(amountOfDecimal(decimalOf(minor, currency), currency)).toBe(minor)
      }),
    )
  })
})
