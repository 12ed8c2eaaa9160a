import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { allocate, allocateInProportion, divideHalfEven, percentRatio, shareOf, sumOf } from './money.ts'

describe('dividing', () => {
  it.each([
    [5n, 10n, 0n],
    [15n, 10n, 2n],
    [25n, 10n, 2n],
    [26n, 10n, 3n],
    [24n, 10n, 2n],
    [0n, 7n, 0n],
  ])('rounds %d / %d half to even', (dividend, divisor, quotient) => {
    expect(divideHalfEven(dividend, divisor)).toBe(quotient)
  })

  it('is at most half away from the exact quotient, and even in the middle', () => {
    fc.assert(
      fc.property(fc.bigInt(0n, 10n ** 30n), fc.bigInt(1n, 10n ** 20n), (dividend, divisor) => {
        const quotient = divideHalfEven(dividend, divisor)
        const twiceOff = 2n * (quotient * divisor - dividend)
        expect(twiceOff <= divisor && twiceOff >= -divisor).toBe(true)
        if (twiceOff === divisor || twiceOff === -divisor) expect(quotient % 2n).toBe(0n)
      }),
    )
  })
})

describe('a share', () => {
  it('is the same for amounts that numbers hold exactly and for larger ones', () => {
    const integer = (max: number) => fc.oneof(fc.nat({ max: 100 }), fc.integer({ min: 0, max }))
    const most = Number.MAX_SAFE_INTEGER
    fc.assert(
      fc.property(integer(most), integer(most), integer(most), (amount, part, whole) => {
        const ratio = { numerator: BigInt(Math.min(part, whole)), denominator: BigInt(Math.max(1, whole)) }
        const exact = divideHalfEven(BigInt(amount) * ratio.numerator, ratio.denominator)
        expect(shareOf(amount, ratio)).toBe(Number(exact))
      }),
    )
  })
})

describe('a percentage', () => {
  it.each([
    [0, 0n, 1n],
    [100, 1n, 1n],
    [12.5, 125n, 1000n],
    [0.1, 1n, 1000n],
    [33.333, 33333n, 100000n],
    [1e-7, 1n, 10n ** 9n],
  ])('%d is exact', (percent, numerator, denominator) => {
    const ratio = percentRatio(percent)
    expect(ratio.numerator * denominator).toBe(ratio.denominator * numerator)
  })

  it('does not lose a minor unit as binary fractions would', () => {
    expect(shareOf(1_000_000_000_000_050, percentRatio(1.1))).toBe(11_000_000_000_001)
    expect(shareOf(5, percentRatio(10))).toBe(0)
    expect(shareOf(15, percentRatio(10))).toBe(2)
    expect(shareOf(Number.MAX_SAFE_INTEGER, percentRatio(100))).toBe(Number.MAX_SAFE_INTEGER)
  })
})

describe('splitting an amount', () => {
  it('puts the remainder on the largest line, then on the next largest', () => {
    expect(allocate(15, [50, 50, 50], { numerator: 1n, denominator: 10n })).toEqual([5, 5, 5])
    expect(allocateInProportion(100, [1, 1, 1])).toEqual([1, 1, 1])
    // Each line's exact share is 0.5.
    expect(allocateInProportion(2, [1, 1, 1, 1])).toEqual([1, 1, 0, 0])
    // Each line's exact share is 1.5, which rounds to 2.
    expect(allocateInProportion(6, [3, 3, 3, 3])).toEqual([0, 2, 2, 2])
    expect(allocateInProportion(10, [100, 200, 700])).toEqual([1, 2, 7])
    expect(allocateInProportion(1, [100, 200, 700])).toEqual([0, 0, 1])
    expect(allocateInProportion(5, [0, 0])).toEqual([0, 0])
  })

  it('gives shares between 0 and the amount that sum to the total', () => {
    const amounts = fc.array(
      fc.oneof(fc.integer({ min: 0, max: 50 }), fc.integer({ min: 0, max: 2 ** 44 })),
      {
        minLength: 1,
        maxLength: 200,
      },
    )
    fc.assert(
      fc.property(amounts, fc.double({ min: 0, max: 1, noNaN: true }), (lines, part) => {
        const total = Math.floor(sumOf(lines) * part)
        const shares = allocateInProportion(total, lines)
        expect(sumOf(shares)).toBe(total)
        shares.forEach((share, index) => {
          expect(share).toBeGreaterThanOrEqual(0)
          expect(share).toBeLessThanOrEqual(lines[index] ?? 0)
        })
      }),
    )
  })
})
