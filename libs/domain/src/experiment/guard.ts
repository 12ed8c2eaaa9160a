import { ALPHA, type LiftInterval, liftInterval, sequentialQuantile } from './compare-means.ts'
import { type Estimate, estimateOf, type Sample } from './estimate.ts'
import { MIN_PEOPLE } from './experiment-results.ts'

/** People who were first exposed while the shares of variant and control did not change. */
export type GuardStratum = { variant: Sample; control: Sample }

/**
 * `worse`: beyond the bound with certainty. `near`: the measured change is more than half way to the bound. `unknown`: an
 * arm has fewer than two people with a value.
 */
export type GuardVerdict = 'worse' | 'near' | 'fine' | 'unknown'

/** A guard with the figures that its verdict was made from. */
export type CheckedGuard = {
  verdict: GuardVerdict
  /** People with a value, of the strata that have both arms. */
  people: { variant: number; control: number }
  /** Means per person. Null when unknown. */
  value: { variant: number | null; control: number | null }
  /** The change as a part of the control's mean. Null when that is 0 or unknown. */
  lift: number | null
  /** Contains the true lift at all times together. Null while the control's mean might be 0. */
  interval: LiftInterval | null
}

/**
 * Judges whether a variant makes a metric worse than its control by more than `worseThan` percent. The verdict `worse` is
 * wrong with a probability of at most 5 % for all looks and all `comparisons` together (Bonferroni).
 */
export const checkGuard = (
  strata: readonly GuardStratum[],
  { goal, worseThan }: { goal: 'up' | 'down'; worseThan: number },
  comparisons: number,
): CheckedGuard => {
  const combined = combine(strata)
  if (combined === null) return UNKNOWN
  const { variant, control, information } = combined
  const quantile = sequentialQuantile(information, undefined, ALPHA / comparisons)
  const beyond = (part: number) => excessOver(variant, control, goal, part)
  const enough = Math.min(variant.people, control.people) >= MIN_PEOPLE
  const verdict = () => {
    const { excess, error } = beyond(worseThan / 100)
    if (enough && excess > quantile * error) return 'worse'
    return beyond(worseThan / 200).excess > 0 ? 'near' : 'fine'
  }
  return {
    verdict: verdict(),
    people: { variant: variant.people, control: control.people },
    value: { variant: variant.mean, control: control.mean },
    lift: control.mean === 0 ? null : (variant.mean - control.mean) / Math.abs(control.mean),
    interval: liftInterval(variant, control, quantile),
  }
}

const UNKNOWN: CheckedGuard = {
  verdict: 'unknown',
  people: { variant: 0, control: 0 },
  value: { variant: null, control: null },
  lift: null,
  interval: null,
}

// Differences below this part of the means are rounding errors of their sums.
const ROUNDING = 1e-9

/**
 * How far the variant is beyond a bound, and the standard error of that. It is beyond by more than `quantile` errors exactly
 * when Fieller's interval lies beyond the bound, and is also known where that interval has no ends.
 */
const excessOver = (variant: Estimate, control: Estimate, goal: 'up' | 'down', part: number) => {
  const sign = goal === 'up' ? 1 : -1
  const factor = 1 - sign * part * (Math.sign(control.mean) || 1)
  const excess = sign * (factor * control.mean - variant.mean)
  const isRounding = Math.abs(excess) <= ROUNDING * Math.max(Math.abs(control.mean), Math.abs(variant.mean))
  return {
    excess: isRounding ? 0 : excess,
    error: Math.sqrt(variant.variance + factor ** 2 * control.variance),
  }
}

type Combined = { variant: Estimate; control: Estimate; information: number }

/**
 * The means of both arms over all strata. Each stratum has the same weight in both, `n1 n0 / (n1 + n0)` (Mantel and
 * Haenszel 1959), so that people who came while few got the variant are compared with those who came at the same time.
 * `information` is the number of people of an even split that would be as informative.
 */
const combine = (strata: readonly GuardStratum[]): Combined | null => {
  let weights = 0
  const arms = { variant: { people: 0, mean: 0, variance: 0 }, control: { people: 0, mean: 0, variance: 0 } }
  for (const stratum of strata) {
    const estimates = cautiousEstimates(stratum)
    if (estimates === null) continue
    const { variant, control } = estimates
    const weight = (variant.people * control.people) / (variant.people + control.people)
    weights += weight
    add(arms.variant, variant, weight)
    add(arms.control, control, weight)
  }
  if (weights === 0) return null
  const scaled = ({ people, mean, variance }: Estimate): Estimate => ({
    people,
    mean: mean / weights,
    variance: variance / weights ** 2,
  })
  return { variant: scaled(arms.variant), control: scaled(arms.control), information: 4 * weights }
}

/**
 * The means of a stratum, with the larger of the variances of the arm and of all people. An arm in which something rare has
 * not happened yet has no variance of its own, which would make every difference certain.
 */
const cautiousEstimates = (stratum: GuardStratum): Pick<Combined, 'variant' | 'control'> | null => {
  const variant = estimateOf(stratum.variant)
  const control = estimateOf(stratum.control)
  if (variant === null || control === null) return null
  const all = estimateOf({
    people: variant.people + control.people,
    sum: stratum.variant.sum + stratum.control.sum,
    sumOfSquares: stratum.variant.sumOfSquares + stratum.control.sumOfSquares,
    past: null,
  })
  const perPerson = (all?.variance ?? 0) * (variant.people + control.people)
  const cautious = ({ people, mean, variance }: Estimate): Estimate => ({
    people,
    mean,
    variance: Math.max(variance, perPerson / people),
  })
  return { variant: cautious(variant), control: cautious(control) }
}

const add = (total: Estimate, { people, mean, variance }: Estimate, weight: number): void => {
  total.people += people
  total.mean += weight * mean
  total.variance += weight ** 2 * variance
}
