import type { ConditionData, CountRef } from './condition.ts'

/** How often a person had an event on one day (UTC, `2026-11-21`). */
export type DayCount = { event: string; day: string; n: number }

const DAY_MS = 24 * 60 * 60 * 1000

/** Sums daily counts for conditions. A window of n days includes today and the n - 1 days before. */
export const countsOf = (
  refs: readonly CountRef[],
  days: readonly DayCount[],
  now: number,
): ConditionData['counts'] => {
  const counts: Record<string, Record<string, number>> = Object.create(null)
  for (const { event, days: window } of refs) {
    const first = new Date(now - (window - 1) * DAY_MS).toISOString().slice(0, 10)
    const sum = days.reduce((n, count) => (count.event === event && count.day >= first ? n + count.n : n), 0)
    counts[event] = { ...counts[event], [`${window}d`]: sum }
  }
  return counts
}
