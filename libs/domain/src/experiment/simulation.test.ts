import { describe, expect, it } from 'vitest'
import { compareMeans, type MeanComparison } from './compare-means.ts'
import { createRandom } from './create-random.ts'
import { adjustedEstimates, type Estimate, estimateOf, type Sample } from './estimate.ts'
import { SAMPLE_RATIO_ALPHA } from './experiment-results.ts'
import { checkSampleRatio } from './sample-ratio.ts'

const EXPERIMENTS = 2_000
/** What a true rate of 5 % stays below in 2,000 experiments, but for one run in 1,000. */
const AT_MOST_5_PERCENT = 0.05 + 3.1 * Math.sqrt((0.05 * 0.95) / EXPERIMENTS)
const AT_LEAST_95_PERCENT = 1 - AT_MOST_5_PERCENT

type Random = ReturnType<typeof createRandom>
/** The value of one person. */
type Draw = (random: Random) => number

const converts =
  (rate: number): Draw =>
  (random) =>
    random() < rate ? 1 : 0
/** One in five buys, for an exponentially distributed amount. */
const spends =
  (mean: number): Draw =>
  (random) =>
    random() < 0.2 ? -mean * 5 * Math.log(1 - random()) : 0

const empty = (): Sample => ({ people: 0, sum: 0, sumOfSquares: 0, past: null })
const addPeople = (sample: Sample, people: number, draw: Draw, random: Random): void => {
  // In variables, because each change of a property that is no integer allocates a number.
  let { sum, sumOfSquares } = sample
  for (let n = 0; n < people; n++) {
    const value = draw(random)
    sum += value
    sumOfSquares += value * value
  }
  sample.people += people
  sample.sum = sum
  sample.sumOfSquares = sumOfSquares
}

/** The part of experiments of which `count` is true. */
const rateOf = (seed: number, count: (random: Random) => boolean): number => {
  const random = createRandom(seed)
  let counted = 0
  for (let n = 0; n < EXPERIMENTS; n++) if (count(random)) counted++
  return counted / EXPERIMENTS
}

const compareOnce = (
  random: Random,
  draws: { control: Draw; variant: Draw; people: number },
): MeanComparison => {
  const [control, variant] = [empty(), empty()]
  addPeople(control, draws.people, draws.control, random)
  addPeople(variant, draws.people, draws.variant, random)
  return compareMeans(estimateOf(variant), estimateOf(control))
}

const excludes = (interval: readonly [number, number] | null, lift: number): boolean =>
  interval !== null && (lift < interval[0] || lift > interval[1])

describe(`${EXPERIMENTS} simulated experiments`, () => {
  it.each([
    ['shares of 10 %', converts(0.1), 1_000],
    ['shares of 50 %', converts(0.5), 300],
    ['amounts', spends(20), 1_000],
  ])('without effect on %s are significant in at most one of 20', (_what, draw, people) => {
    const rate = rateOf(
      1,
      (random) => (compareOnce(random, { control: draw, variant: draw, people }).pValue ?? 1) < 0.05,
    )
    expect(rate).toBeLessThan(AT_MOST_5_PERCENT)
    // A test that finds nothing would pass as well.
    expect(rate).toBeGreaterThan(0.03)
  })

  const lookDaily =
    (draw: Draw, isFound: (comparison: MeanComparison) => boolean) =>
    (random: Random): boolean => {
      const [control, variant] = [empty(), empty()]
      for (let day = 0; day < 28; day++) {
        addPeople(control, 60, draw, random)
        addPeople(variant, 60, draw, random)
        if (isFound(compareMeans(estimateOf(variant), estimateOf(control)))) return true
      }
      return false
    }
  it.each([
    ['shares', converts(0.1)],
    ['amounts', spends(20)],
  ])(
    'without effect on %s that are looked at daily have a sequential interval without 0 in at most one of 20',
    (_what, draw) => {
      expect(
        rateOf(
          2,
          lookDaily(draw, ({ sequentialInterval }) => excludes(sequentialInterval, 0)),
        ),
      ).toBeLessThan(0.05)
      // Which the other interval does not promise.
      expect(
        rateOf(
          3,
          lookDaily(draw, ({ interval }) => excludes(interval, 0)),
        ),
      ).toBeGreaterThan(0.15)
    },
  )

  it.each([
    ['shares', converts(0.1), converts(0.12), 0.2],
    ['amounts', spends(20), spends(25), 0.25],
  ])('with a known effect on %s have it in 19 of 20 intervals', (_what, control, variant, lift) => {
    let sequential = 0
    const missed = rateOf(4, (random) => {
      const { interval, sequentialInterval } = compareOnce(random, { control, variant, people: 2_000 })
      if (excludes(sequentialInterval, lift)) sequential++
      return excludes(interval, lift)
    })
    expect(1 - missed).toBeGreaterThan(AT_LEAST_95_PERCENT)
    expect(1 - missed).toBeLessThan(0.97)
    expect(sequential / EXPERIMENTS).toBeLessThan(0.05)
  })

  const split = (random: Random, lost: number) => {
    const counts = { a: 0, b: 0 }
    for (let n = 0; n < 2_000; n++)
      if (random() < 0.5) counts.a++
      else if (random() >= lost) counts.b++
    const weights = new Map(Object.entries({ a: 1, b: 1 }))
    const people = new Map(Object.entries(counts))
    return (checkSampleRatio([{ weights, people }]).pValue ?? 1) < SAMPLE_RATIO_ALPHA
  }
  it('report a sound split about once in 1,000, and one that loses a quarter of a variant nearly always', () => {
    expect(rateOf(5, (random) => split(random, 0))).toBeLessThan(0.004)
    expect(rateOf(6, (random) => split(random, 0.25))).toBeGreaterThan(0.99)
  })

  it('have narrower intervals with the past of people, which hold as often', () => {
    const widthOf = ([low, high]: readonly [number, number]) => high - low
    const widths = { raw: 0, adjusted: 0 }
    const missed = rateOf(7, (random) => {
      // What people do after is half what they did before, with an effect of 10 % on the variant.
      const samples = [1, 1.1].map((factor): Sample => {
        const past = { sum: 0, sumOfSquares: 0, sumOfProducts: 0 }
        const sample = { ...empty(), past }
        for (let n = 0; n < 400; n++) {
          const habit = 10 * random()
          const x = habit + 2 * random()
          const y = (habit + 2 * random()) * factor
          sample.people++
          sample.sum += y
          sample.sumOfSquares += y * y
          past.sum += x
          past.sumOfSquares += x * x
          past.sumOfProducts += x * y
        }
        return sample
      })
      const intervalOf = ([control, variant]: readonly (Estimate | null)[]) =>
        compareMeans(variant ?? null, control ?? null).interval ?? [0, 0]
      const adjusted = intervalOf(adjustedEstimates(samples).estimates)
      widths.raw += widthOf(intervalOf(samples.map(estimateOf)))
      widths.adjusted += widthOf(adjusted)
      return excludes(adjusted, 0.1)
    })
    expect(widths.adjusted / widths.raw).toBeLessThan(0.5)
    expect(missed).toBeLessThan(AT_MOST_5_PERCENT)
  })
})
