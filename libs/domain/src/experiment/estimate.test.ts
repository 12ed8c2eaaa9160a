import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { adjustedEstimates, estimateOf, type Sample } from './estimate.ts'

/** The sample of people with these values, and with these values before. */
const sampleOf = (values: readonly number[], past?: readonly number[]): Sample => {
  const sumOf = (pick: (value: number, index: number) => number) =>
    values.reduce((total, value, index) => total + pick(value, index), 0)
  const pastOf = (index: number): number => past?.[index] ?? 0
  return {
    people: values.length,
    sum: sumOf((y) => y),
    sumOfSquares: sumOf((y) => y * y),
    past: past
      ? {
          sum: sumOf((_, index) => pastOf(index)),
          sumOfSquares: sumOf((_, index) => pastOf(index) ** 2),
          sumOfProducts: sumOf((y, index) => y * pastOf(index)),
        }
      : null,
  }
}

describe('an estimate', () => {
  it('has the mean of the people, and the variance of that mean', () => {
    // The variance of 2, 4, 4, 4, 5, 5, 7, 9 is 32 / 7.
    const { mean = 0, variance = 0, people } = estimateOf(sampleOf([2, 4, 4, 4, 5, 5, 7, 9])) ?? {}
    expect([mean, people]).toEqual([5, 8])
    expect(variance).toBeCloseTo(32 / 7 / 8, 12)
  })

  it('needs two people', () => {
    expect(estimateOf(sampleOf([7]))).toBeNull()
    expect(estimateOf(sampleOf([7, 7]))).toEqual({ people: 2, mean: 7, variance: 0 })
  })

  it('has no variance when all values are the same, with any rounding', () => {
    const same = (value: number) => estimateOf(sampleOf(Array.from({ length: 1_000 }, () => value)))?.variance
    expect([0.1, 1 / 3, 123_456.789].map(same)).toEqual([0, 0, 0])
  })
})

describe('an adjustment by the past', () => {
  it('removes all of the variance that the past explains', () => {
    const { estimates, varianceReduction } = adjustedEstimates([
      sampleOf([2, 4, 6], [1, 2, 3]),
      sampleOf([12, 14, 16], [3, 4, 5]),
    ])
    expect(varianceReduction).toBeCloseTo(1, 12)
    expect(estimates[0]?.variance).toBeCloseTo(0, 12)
    // y = 2x in one variant and 2x + 6 in the other: the effect is 6.
    expect((estimates[1]?.mean ?? 0) - (estimates[0]?.mean ?? 0)).toBeCloseTo(6, 12)
  })

  it.each<[string, Sample[]]>([
    ['nothing is known of it', [sampleOf([1, 2, 3]), sampleOf([3, 4, 6])]],
    ['it is the same for everyone', [sampleOf([1, 2, 3], [0, 0, 0]), sampleOf([3, 4, 6], [0, 0, 0])]],
    ['it explains nothing', [sampleOf([1, 2, 1, 2], [0, 0, 1, 1]), sampleOf([1, 2, 1, 2], [0, 0, 1, 1])]],
  ])('changes nothing when %s', (_what, samples) => {
    expect(adjustedEstimates(samples)).toEqual({
      estimates: samples.map(estimateOf),
      varianceReduction: null,
    })
  })

  it('never makes the variance within variants larger', () => {
    const person = fc.tuple(fc.integer({ min: 0, max: 100 }), fc.integer({ min: 0, max: 100 }))
    const variant = fc.array(person, { minLength: 2, maxLength: 30 })
    fc.assert(
      fc.property(fc.array(variant, { minLength: 2, maxLength: 4 }), (variants) => {
        const samples = variants.map((people) =>
          sampleOf(
            people.map(([y]) => y),
            people.map(([, x]) => x),
          ),
        )
        const squaresOf = (estimates: readonly ({ people: number; variance: number } | null)[]) =>
          estimates.reduce(
            (sum, one) => sum + (one?.variance ?? 0) * (one?.people ?? 0) * ((one?.people ?? 0) - 1),
            0,
          )
        const { estimates } = adjustedEstimates(samples)
        expect(squaresOf(estimates)).toBeLessThanOrEqual(squaresOf(samples.map(estimateOf)) + 1e-6)
      }),
    )
  })
})
