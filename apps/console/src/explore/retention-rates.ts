import type { Results } from './query-types.ts'

type Cohort = Results['retention']['cohorts'][number]

/** Non-empty cohorts, and whether each of their periods has started by `to`. */
export type ShownCohort = Cohort & { rates: readonly (number | null)[] }

/** The start of each period after a cohort's, by the average length of an interval. */
const LENGTHS_MS = { day: 86_400_000, week: 7 * 86_400_000, month: 30.44 * 86_400_000 }

/** The rates (0 to 1) of each cohort by period. A period that starts after `now` (ms) has none. */
export const retentionRates = (
  cohorts: readonly Cohort[],
  interval: keyof typeof LENGTHS_MS,
  now: number,
): ShownCohort[] =>
  cohorts
    .filter(({ size }) => size > 0)
    .map((cohort) => ({
      ...cohort,
      rates: cohort.returned.map((people, period) =>
        Date.parse(cohort.at) + period * LENGTHS_MS[interval] > now && people === 0
          ? null
          : people / cohort.size,
      ),
    }))

/** The rate of all people by period, over the cohorts that have reached it. */
export const meanRates = (cohorts: readonly ShownCohort[]): (number | null)[] =>
  (cohorts[0]?.rates ?? []).map((_, period) => {
    const reached = cohorts.filter(({ rates }) => rates[period] !== null)
    const size = reached.reduce((sum, cohort) => sum + cohort.size, 0)
    const returned = reached.reduce((sum, cohort) => sum + (cohort.returned[period] ?? 0), 0)
    return size === 0 ? null : returned / size
  })
