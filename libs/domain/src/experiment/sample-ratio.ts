/// <reference path="../jstat.d.ts" />
import jstat from 'jstat'

/** People who were split by the same weights: how many got each variant. */
export type SplitGroup = {
  weights: ReadonlyMap<string, number>
  people: ReadonlyMap<string, number>
}

/** People by variant, as the weights say and as counted. `pValue`: null without at least two variants and some people. */
export type SampleRatio = {
  expected: Record<string, number>
  seen: Record<string, number>
  pValue: number | null
}

/**
 * Compares the people of each variant with the weights of their splits (Pearson's chi-squared test). People with a variant that
 * their split does not have are left out. With several groups, the test is of their totals.
 */
export const checkSampleRatio = (groups: readonly SplitGroup[]): SampleRatio => {
  const expected = new Map<string, number>()
  const seen = new Map<string, number>()
  const add = (counts: Map<string, number>, variant: string, people: number) =>
    counts.set(variant, (counts.get(variant) ?? 0) + people)
  for (const { weights, people } of groups) {
    const shares = [...weights].filter(([, weight]) => weight > 0)
    const totalWeight = shares.reduce((total, [, weight]) => total + weight, 0)
    const totalPeople = shares.reduce((total, [variant]) => total + (people.get(variant) ?? 0), 0)
    for (const [variant, weight] of shares) {
      add(expected, variant, (totalPeople * weight) / totalWeight)
      add(seen, variant, people.get(variant) ?? 0)
    }
  }
  const counted = [...expected].filter(([, people]) => people > 0)
  const chiSquared = counted.reduce(
    (total, [variant, people]) => total + ((seen.get(variant) ?? 0) - people) ** 2 / people,
    0,
  )
  return {
    expected: Object.fromEntries(expected),
    seen: Object.fromEntries(seen),
    pValue: counted.length < 2 ? null : 1 - jstat.jStat.chisquare.cdf(chiSquared, counted.length - 1),
  }
}
