/// <reference path="../jstat.d.ts" />
import jstat from 'jstat'

const { normal } = jstat.jStat
/** The 97.5 % quantile of the standard normal distribution. */
const Z95 = normal.inv(0.975, 0, 1)

/** A number of people, and how many of them converted. */
type Group = { people: number; converted: number }
/** The bounds of a 95 % confidence interval. */
type Interval = [number, number]

/** A comparison of two rates. Null where there are too few people. */
export type Comparison = {
  lift: number | null
  difference: number | null
  differenceInterval: Interval | null
  pValue: number | null
}

/** The conversion rate with its Wilson score interval (Wilson 1927). Null without people. */
export const rateOf = ({
  people,
  converted,
}: Group): { rate: number | null; rateInterval: Interval | null } => {
  if (people === 0) return { rate: null, rateInterval: null }
  const rate = converted / people
  const z2 = Z95 ** 2
  const center = (rate + z2 / (2 * people)) / (1 + z2 / people)
  const half = (Z95 / (1 + z2 / people)) * Math.sqrt((rate * (1 - rate)) / people + z2 / (4 * people ** 2))
  return {
    rate,
    rateInterval: [converted === 0 ? 0 : center - half, converted === people ? 1 : center + half],
  }
}

/**
 * Compares a group's rate with the control's: the p-value is that of the two-sided z-test of two proportions with a
 * pooled variance, the interval is Newcombe's from two Wilson intervals (Newcombe 1998, method 10), which holds for few
 * people and for rates near 0 and 1 as well.
 */
export const compareRates = (group: Group, control: Group): Comparison => {
  const { rate: own, rateInterval: ownInterval } = rateOf(group)
  const { rate: other, rateInterval: otherInterval } = rateOf(control)
  if (own === null || other === null || ownInterval === null || otherInterval === null)
    return { lift: null, difference: null, differenceInterval: null, pValue: null }
  const difference = own - other
  const [ownLow, ownHigh] = ownInterval
  const [otherLow, otherHigh] = otherInterval
  return {
    lift: other === 0 ? null : difference / other,
    difference: withoutNoise(difference),
    differenceInterval: [
      withoutNoise(difference - Math.hypot(own - ownLow, otherHigh - other)),
      withoutNoise(difference + Math.hypot(ownHigh - own, other - otherLow)),
    ],
    pValue: pValueOf(group, control),
  }
}

// Tolerance for rounding errors.
const NOISE = 1e-12
const withoutNoise = (value: number): number => (Math.abs(value) < NOISE ? 0 : value)

const pValueOf = (group: Group, control: Group): number | null => {
  const pooled = (group.converted + control.converted) / (group.people + control.people)
  const deviation = Math.sqrt(pooled * (1 - pooled) * (1 / group.people + 1 / control.people))
  if (deviation === 0) return null
  const z = Math.abs(group.converted / group.people - control.converted / control.people) / deviation
  return 2 * normal.cdf(-z, 0, 1)
}
