/** Sums over the people of a variant. Each person counts once, with one value `y`. */
export type Sample = {
  people: number
  /** Of `y` and of its square. */
  sum: number
  sumOfSquares: number
  /** The same of each person's value `x` from before the exposure, with the sum of `x * y`. Null if it is unknown. */
  past: { sum: number; sumOfSquares: number; sumOfProducts: number } | null
}

/** A mean per person, and the variance of that mean. */
export type Estimate = { people: number; mean: number; variance: number }

/** The mean of a sample. Null with fewer than two people, who have no variance. */
export const estimateOf = ({ people, sum, sumOfSquares }: Sample): Estimate | null =>
  people < 2
    ? null
    : {
        people,
        mean: sum / people,
        variance: centered(sumOfSquares, sum, sum, people) / (people - 1) / people,
      }

/** The estimates of the variants of an experiment. `varianceReduction`: the part of the variance that was removed. */
export type AdjustedEstimates = { estimates: (Estimate | null)[]; varianceReduction: number | null }

/**
 * The means of the variants of an experiment, adjusted by what the same people did before (CUPED: Deng, Xu, Kohavi, Walker
 * 2013, "Improving the sensitivity of online controlled experiments by utilizing pre-experiment data"). The slope is
 * estimated within the variants, so that an effect does not change it. Without past values that vary, the means are
 * not adjusted and `varianceReduction` is null.
 */
export const adjustedEstimates = (samples: readonly Sample[]): AdjustedEstimates => {
  const estimates = samples.map(estimateOf)
  const deviations = samples.map(deviationsOf)
  const total = (name: keyof Deviations): number =>
    deviations.reduce((sum, one) => sum + (one?.[name] ?? 0), 0)
  const [xx, xy, yy] = [total('xx'), total('xy'), total('yy')]
  if (xx <= 0 || yy <= 0 || xy === 0) return { estimates, varianceReduction: null }
  const slope = xy / xx
  const pastMean = total('sumOfPast') / total('people')
  return {
    estimates: estimates.map((estimate, index) => {
      const own = deviations[index]
      if (!estimate || !own) return estimate
      const { people } = own
      const squares = Math.max(0, own.yy - 2 * slope * own.xy + slope ** 2 * own.xx)
      return {
        people,
        mean: estimate.mean - slope * (own.sumOfPast / people - pastMean),
        variance: squares / (people - 1) / people,
      }
    }),
    varianceReduction: xy ** 2 / (xx * yy),
  }
}

/** The sums of products of the deviations of a sample. */
type Deviations = { people: number; sumOfPast: number; xx: number; xy: number; yy: number }

const deviationsOf = ({ people, sum, sumOfSquares, past }: Sample): Deviations | null =>
  past === null || people < 2
    ? null
    : {
        people,
        sumOfPast: past.sum,
        xx: centered(past.sumOfSquares, past.sum, past.sum, people),
        xy: centered(past.sumOfProducts, past.sum, sum, people),
        yy: centered(sumOfSquares, sum, sum, people),
      }

// What is smaller than this part of the numbers that it is the difference of is their rounding error.
const NOISE = 1e-12

/** The sum of products of deviations from the means. */
const centered = (sumOfProducts: number, sumOfX: number, sumOfY: number, people: number): number => {
  const ofMeans = (sumOfX * sumOfY) / people
  const difference = sumOfProducts - ofMeans
  return Math.abs(difference) <= NOISE * Math.max(Math.abs(sumOfProducts), Math.abs(ofMeans)) ? 0 : difference
}
