import type { Answers } from './questions.ts'

type Cohort = Answers['retention']['cohorts'][number]

/** Cohorts with people, and whether each period of them has begun by `to`. */
export type ShownCohort = Cohort & { rates: readonly (number | null)[] }

/** The beginning of each period after a cohort's; a period is as long as its interval is on average. */
const LENGTHS_MS = { day: 86_400_000, week: 7 * 86_400_000, month: 30.44 * 86_400_000 }

/**
 * The shares (0 to 1) of each cohort that came back in each period. A period that begins after `now` (ms) has none: nobody
 * could come back in it yet.
 */
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

/** The share of all people who came back in each period, of those cohorts that have reached it. */
export const meanRates = (cohorts: readonly ShownCohort[]): (number | null)[] =>
  (cohorts[0]?.rates ?? []).map((_, period) => {
    const reached = cohorts.filter(({ rates }) => rates[period] !== null)
    const size = reached.reduce((sum, cohort) => sum + cohort.size, 0)
    const returned = reached.reduce((sum, cohort) => sum + (cohort.returned[period] ?? 0), 0)
    return size === 0 ? null : returned / size
  })
