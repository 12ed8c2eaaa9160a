import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isMultipleOf } from './decimal-multiple.ts'

describe('isMultipleOf', () => {
  it.each([
    [19.99, 0.01, true],
    [4.35, 0.01, true],
    [-4.35, 0.01, true],
    [0, 0.01, true],
    [-0, 3, true],
    [4.355, 0.01, false],
    [0.3, 0.1, true],
    [1.1, 0.3, false],
    [7, 2, false],
    [9, 4.5, true],
    [1e21, 7, false],
    [7e300, 7, true],
    [1e300, 1e-300, true],
    [1e-7, 1e-8, true],
    [1e-8, 1e-7, false],
    [5e-324, 5e-324, true],
    [Number.POSITIVE_INFINITY, 1, false],
  ])('%f of %f: %j', (value, divisor, expected) => {
    expect(isMultipleOf(value, divisor)).toBe(expected)
  })

  it('agrees with integers of the same decimals', () => {
    const texts = fc.tuple(fc.integer({ min: -1e9, max: 1e9 }), fc.integer({ min: 1, max: 1e5 }), fc.nat(9))
    fc.assert(
      fc.property(texts, ([value, divisor, decimals]) => {
        const shifted = (digits: number): number => Number(`${digits}e-${decimals}`)
        const expected = BigInt(value) % BigInt(divisor) === 0n
        expect(isMultipleOf(shifted(value), shifted(divisor))).toBe(expected)
      }),
    )
  })

  it('finds every product, with exponents of any size', () => {
    const parts = fc.tuple(fc.integer({ min: -9_999, max: 9_999 }), fc.integer({ min: 1, max: 9_999 }))
    fc.assert(
      fc.property(parts, fc.integer({ min: -300, max: 290 }), ([factor, digits], exponent) => {
        const product = `${BigInt(factor) * BigInt(digits)}e${exponent}`
        expect(isMultipleOf(Number(product), Number(`${digits}e${exponent}`))).toBe(true)
      }),
    )
  })
})
