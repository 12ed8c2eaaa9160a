import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { compareMeans, sequentialQuantile } from './compare-means.ts'
import { estimateOf } from './estimate.ts'

/** A sample from the sums that statistics packages print. */
const summed = (people: number, sum: number, sumOfSquares: number) =>
  estimateOf({ people, sum, sumOfSquares, past: null })
const estimateFrom = (values: readonly number[]) => {
  const sumOf = (pick: (value: number) => number) => values.reduce((sum, value) => sum + pick(value), 0)
  return summed(
    values.length,
    sumOf((value) => value),
    sumOf((value) => value * value),
  )
}

describe('a comparison of means', () => {
  // Three examples of Welch's t-test on Wikipedia, with t, degrees of freedom and p-value.
  const examples: [number[], number[], number][] = [
    [
      [27.5, 21, 19, 23.6, 17, 17.9, 16.9, 20.1, 21.9, 22.6, 23.1, 19.6, 19, 21.7, 21.4],
      [27.1, 22, 20.8, 23.4, 23.4, 23.5, 25.8, 22, 24.8, 20.2, 21.9, 22.1, 22.9, 20.5, 24.4],
      0.021,
    ],
    [
      [17.2, 20.9, 22.6, 18.1, 21.7, 21.4, 23.5, 24.2, 14.7, 21.8],
      [
        21.5, 22.8, 21, 23, 21.6, 23.6, 22.5, 20.7, 23.4, 21.8, 20.7, 21.7, 21.5, 22.5, 23.6, 21.5, 22.5,
        23.5, 21.5, 21.8,
      ],
      0.149,
    ],
    [
      [19.8, 20.4, 19.6, 17.8, 18.5, 18.9, 18.3, 18.9, 19.5, 22],
      [
        28.2, 26.6, 20.1, 23.3, 25.2, 22.1, 17.7, 27.6, 20.6, 13.7, 23.2, 17.5, 20.6, 18, 23.9, 21.6, 24.3,
        20.4, 24, 13.2,
      ],
      0.036,
    ],
  ]
  it.each(examples)('of example %# of Welch’s test has the published p-value', (a, b, pValue) => {
    expect(compareMeans(estimateFrom(b), estimateFrom(a)).pValue).toBeCloseTo(pValue, 3)
  })

  // GrowthBook's tests of its statistics (gbstats, tests/frequentist/test_tests.py): the two-sided test of the difference.
  it('has the p-value that GrowthBook computes', () => {
    const { pValue, lift } = compareMeans(summed(3461, 2422.7, 134698.29), summed(3407, 1396.87, 52377.9767))
    expect(pValue).toBeCloseTo(0.02016, 4)
    expect(lift).toBeCloseTo(0.70732, 5)
  })

  // The same, test_sequential_test_runs and test_sequential_test_runs_prop: half the interval by its standard error.
  it.each([
    [6461, 1000, (1.56516 - 0.50336) / 0.33341],
    [6461, 5000, (0.60675 - 0.50386) / 0.03386],
  ])(
    'at any time, of %d people and tuned for %d, is as wide as GrowthBook’s',
    (people, tunedFor, quantile) => {
      expect(sequentialQuantile(people, tunedFor)).toBeCloseTo(quantile, 2)
    },
  )

  it('is narrowest near the number of people that it is tuned for', () => {
    const least = Math.min(
      ...[10, 100, 1_000, 5_000, 50_000, 5_000_000].map((people) => sequentialQuantile(people)),
    )
    expect(least).toBe(sequentialQuantile(5_000))
    expect(least).toBeGreaterThan(1.96)
  })

  const estimate = fc.record({
    people: fc.integer({ min: 2, max: 20_000 }),
    mean: fc.double({ min: -100, max: 100, noNaN: true }),
    variance: fc.double({ min: 1e-6, max: 100, noNaN: true }),
  })
  it('has an interval without 0 exactly when the p-value is below 0.05', () => {
    fc.assert(
      fc.property(estimate, estimate, (variant, control) => {
        const { interval, pValue } = compareMeans(variant, control)
        fc.pre(interval !== null && pValue !== null && Math.abs(pValue - 0.05) > 1e-4)
        const [low, high] = interval as [number, number]
        expect(low > 0 || high < 0).toBe((pValue as number) < 0.05)
      }),
    )
  })

  it('has a sequential interval around the other one, and the lift in both', () => {
    fc.assert(
      fc.property(estimate, estimate, (variant, control) => {
        const { lift, interval, sequentialInterval } = compareMeans(
          { ...variant, people: 500 },
          { ...control, people: 500 },
        )
        fc.pre(lift !== null && interval !== null && sequentialInterval !== null)
        const [low, high] = interval as [number, number]
        const [outerLow, outerHigh] = sequentialInterval as [number, number]
        expect(outerLow).toBeLessThan(low)
        expect(low).toBeLessThan(lift as number)
        expect(high).toBeGreaterThan(lift as number)
        expect(outerHigh).toBeGreaterThan(high)
      }),
    )
  })

  it('has no interval while the control’s mean may be 0, but a p-value', () => {
    const { lift, interval, pValue } = compareMeans(summed(50, 25, 25), summed(50, 1, 1))
    expect(lift).toBeCloseTo(24, 10)
    expect(interval).toBeNull()
    expect(pValue).toBeLessThan(0.001)
  })

  it('has the p-value 1 for equal means, in spite of rounding', () => {
    expect(compareMeans(summed(26, 13, 13), summed(26, 13, 13)).pValue).toBe(1)
  })

  it('is null where there is nothing to compare', () => {
    const nothing = { lift: null, interval: null, sequentialInterval: null, pValue: null }
    const some = summed(10, 5, 5)
    expect(compareMeans(null, some)).toEqual(nothing)
    expect(compareMeans(some, null)).toEqual(nothing)
    expect(compareMeans(summed(10, 0, 0), summed(10, 0, 0))).toEqual(nothing)
    expect(compareMeans(summed(10, 10, 10), summed(10, 10, 10))).toEqual({ ...nothing, lift: 0 })
  })
})
