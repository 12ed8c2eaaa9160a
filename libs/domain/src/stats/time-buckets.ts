import type { StatsInterval } from '@waymark/contracts'

const HOUR_MS = 60 * 60 * 1000
const DAY_MS = 24 * HOUR_MS
/** The first Monday since the epoch. */
const MONDAY_MS = 4 * DAY_MS

/**
 * The beginnings (ms, UTC) of all buckets that lie at least partly in `from` to `to` (ms, the end excluded), in order;
 * `undefined` when they are more than `max`. Weeks begin on Monday.
 */
export const timeBuckets = (
  interval: StatsInterval,
  from: number,
  to: number,
  max: number,
): number[] | undefined => {
  const buckets: number[] = []
  for (let at = startOf(interval, from); at < to; at = nextAfter(interval, at)) {
    if (buckets.length === max) return undefined
    buckets.push(at)
  }
  return buckets
}

const floor = (time: number, size: number, origin = 0): number =>
  Math.floor((time - origin) / size) * size + origin

const startOf = (interval: StatsInterval, time: number): number => {
  if (interval === 'hour') return floor(time, HOUR_MS)
  if (interval === 'day') return floor(time, DAY_MS)
  if (interval === 'week') return floor(time, 7 * DAY_MS, MONDAY_MS)
  return monthOf(time, 0)
}

const nextAfter = (interval: StatsInterval, at: number): number => {
  if (interval === 'hour') return at + HOUR_MS
  if (interval === 'day') return at + DAY_MS
  return interval === 'week' ? at + 7 * DAY_MS : monthOf(at, 1)
}

const monthOf = (time: number, later: number): number => {
  const date = new Date(time)
  // Not Date.UTC, which takes the years 0 to 99 for 1900 to 1999.
  const month = new Date(0)
  month.setUTCFullYear(date.getUTCFullYear(), date.getUTCMonth() + later, 1)
  return month.getTime()
}
