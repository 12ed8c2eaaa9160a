/// <reference path="../jstat.d.ts" />
import jstat from 'jstat'
import type { Estimate } from './estimate.ts'

const { normal, studentt } = jstat.jStat

/** The error rate of intervals and warnings: intervals cover at 95 %. */
export const ALPHA = 0.05
/** The number of people at which sequential intervals are narrowest. */
const SEQUENTIAL_PEOPLE = 5_000
/** Beyond these degrees of freedom the t distribution is treated as normal; it differs by less than 0.05 %. */
const MAX_DEGREES = 5_000

/** The bounds of a 95 % confidence interval of a lift. */
export type LiftInterval = [low: number, high: number]

/** A variant compared with the control. Null where there are too few data. */
export type MeanComparison = {
  /** The difference of the means, as a part of the control's. */
  lift: number | null
  /** Holds when it is read once, at a time that was set before. */
  interval: LiftInterval | null
  /** Holds at all times together, however often it is read. */
  sequentialInterval: LiftInterval | null
  pValue: number | null
}

/**
 * Compares two means per person; a share of people is a mean of zeros and ones. The p-value is that of Welch's two-sided
 * t-test (Welch 1947). The intervals of the lift are Fieller's (Fieller 1954), which contain 0 exactly when the test finds
 * no difference. They are null while the control's mean might be 0, since the lift then has no bounds.
 */
export const compareMeans = (variant: Estimate | null, control: Estimate | null): MeanComparison => {
  if (variant === null || control === null) return NOT_COMPARED
  const variance = variant.variance + control.variance
  const lift = control.mean === 0 ? null : (variant.mean - control.mean) / Math.abs(control.mean)
  if (variance === 0) return { ...NOT_COMPARED, lift }
  const degrees = welchDegrees(variant, control)
  const t = Math.abs(variant.mean - control.mean) / Math.sqrt(variance)
  return {
    lift,
    interval: liftInterval(variant, control, quantileOf(1 - ALPHA / 2, degrees)),
    sequentialInterval: liftInterval(variant, control, sequentialQuantile(variant.people + control.people)),
    // The function may exceed a half by its rounding error.
    pValue: Math.min(1, 2 * (degrees > MAX_DEGREES ? normal.cdf(-t, 0, 1) : studentt.cdf(-t, degrees))),
  }
}

const NOT_COMPARED: MeanComparison = { lift: null, interval: null, sequentialInterval: null, pValue: null }

/** The degrees of freedom of Welch's test (Satterthwaite 1946). */
const welchDegrees = (a: Estimate, b: Estimate): number =>
  (a.variance + b.variance) ** 2 / (a.variance ** 2 / (a.people - 1) + b.variance ** 2 / (b.people - 1))

const quantileOf = (p: number, degrees: number): number =>
  degrees > MAX_DEGREES ? normal.inv(p, 0, 1) : studentt.inv(p, degrees)

/**
 * The number of standard errors that a difference stays within at all sample sizes together, with a probability of
 * 1 - `alpha`: the asymptotic confidence sequence of Waudby-Smith, Arbour, Sinha, Kennedy and Ramdas, "Time-uniform central
 * limit theory and asymptotic confidence sequences" (Annals of Statistics 2024, arXiv:2103.06476), theorem 2.2, with the
 * parameter of its appendix that makes it narrowest at `tunedFor` people.
 */
export const sequentialQuantile = (people: number, tunedFor = SEQUENTIAL_PEOPLE, alpha = ALPHA): number => {
  const rho2 = (-2 * Math.log(alpha) + Math.log(-2 * Math.log(alpha) + 1)) / tunedFor
  const scaled = people * rho2
  return Math.sqrt((2 * (scaled + 1) * Math.log(Math.sqrt(scaled + 1) / alpha)) / scaled)
}

/** Fieller's interval of the ratio of two means, less 1, for a difference of up to `quantile` standard errors. */
export const liftInterval = (variant: Estimate, control: Estimate, quantile: number): LiftInterval | null => {
  const q2 = quantile ** 2
  const divisor = control.mean ** 2 - q2 * control.variance
  if (divisor <= 0) return null
  const product = variant.mean * control.mean
  const root = quantile * Math.sqrt(variant.variance * divisor + control.variance * variant.mean ** 2)
  const bounds = [(product - root) / divisor - 1, (product + root) / divisor - 1] as const
  return control.mean > 0 ? [bounds[0], bounds[1]] : [-bounds[1], -bounds[0]]
}
