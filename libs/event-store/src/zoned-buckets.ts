import type { StatsInterval } from '@waymark/contracts/http/stats'
import { Temporal } from 'temporal-polyfill'

const STEPS: Record<StatsInterval, Temporal.DurationLike> = {
  hour: { hours: 1 },
  day: { days: 1 },
  week: { weeks: 1 },
  month: { months: 1 },
}

const HOUR_MS = 3_600_000
/** The length, in ms, of buckets between which the clock does not change. Months have none. */
const LENGTHS_MS: Record<StatsInterval, number> = {
  hour: HOUR_MS,
  day: 24 * HOUR_MS,
  week: 7 * 24 * HOUR_MS,
  month: Number.NaN,
}

/** Whether this runtime knows the IANA time zone. UTC is always known. */
export const isTimeZone = (name: string): boolean => {
  try {
    new Intl.DateTimeFormat('en', { timeZone: name })
    return !/^[+-]/.test(name)
  } catch {
    return false
  }
}

/**
 * The beginnings (ms, UTC) of all buckets that overlap `from` to `to` (ms, exclusive), in order; `undefined` when they
 * are more than `max`. Days, weeks (from Monday) and months begin at local midnight, so one with a clock change is an
 * hour shorter or longer. The hour that a clock change repeats is two buckets.
 */
export const zonedBuckets = (
  interval: StatsInterval,
  timeZone: string,
  from: number,
  to: number,
  max: number,
): number[] | undefined => {
  const buckets: number[] = []
  const length = LENGTHS_MS[interval]
  let at = startOf(interval, zonedTime(from, timeZone)).epochMilliseconds
  let isRegular = false
  let clockChange = at
  while (at < to) {
    if (buckets.length === max) return undefined
    buckets.push(at)
    // A year of hours takes Temporal 60 ms of the main thread, numbers less than one.
    if (isRegular && at + length < clockChange) {
      at += length
      continue
    }
    const zoned = zonedTime(at, timeZone)
    clockChange = zoned.getTimeZoneTransition('next')?.epochMilliseconds ?? Number.POSITIVE_INFINITY
    const next = startAfter(interval, zoned).epochMilliseconds
    isRegular = next - at === length && next < clockChange
    at = next
  }
  return buckets
}

/** A time (ms, UTC) in a time zone. */
export const zonedTime = (at: number, timeZone: string): Temporal.ZonedDateTime =>
  Temporal.Instant.fromEpochMilliseconds(at).toZonedDateTimeISO(timeZone)

/** The beginning (ms, UTC) of the `count`th bucket after the one that begins at `at`. */
export const bucketAfter = (interval: StatsInterval, timeZone: string, at: number, count: number): number => {
  let start = zonedTime(at, timeZone)
  for (let n = 0; n < count; n++) start = startAfter(interval, start)
  return start.epochMilliseconds
}

/**
 * The previous period of a range (ms, UTC, end exclusive): earlier by whole intervals, at least the length of the
 * range, so that each bucket has a counterpart with the same local start time.
 */
export const previousPeriod = (
  interval: StatsInterval,
  timeZone: string,
  { from, to, buckets }: { from: number; to: number; buckets: readonly number[] },
): { from: number; to: number; buckets: number[] } => {
  const zoned = (at: number) => zonedTime(at, timeZone)
  const unit = `${interval}s` as const
  const whole = Math.max(1, Math.floor(zoned(from).until(zoned(to), { largestUnit: unit })[unit]))
  const count = zoned(from).add({ [unit]: whole }).epochMilliseconds < to ? whole + 1 : whole
  const earlier = (at: number): number => {
    const time = zoned(at)
    const before = time.subtract({ [unit]: count })
    // The day of a clock change may begin at another time of the clock.
    const beginsDay = interval !== 'hour' && time.equals(time.startOfDay())
    return (beginsDay ? before.startOfDay() : before).epochMilliseconds
  }
  return {
    from: earlier(from),
    to: earlier(to),
    buckets: buckets.map((at) => startOf(interval, zoned(earlier(at))).epochMilliseconds),
  }
}

/** The beginning of the bucket that a time lies in. */
export const startOf = (interval: StatsInterval, time: Temporal.ZonedDateTime): Temporal.ZonedDateTime => {
  if (interval === 'hour') return time.round({ smallestUnit: 'hour', roundingMode: 'floor' })
  const day = time.startOfDay()
  if (interval === 'day') return day
  return interval === 'week'
    ? day.subtract({ days: day.dayOfWeek - 1 }).startOfDay()
    : day.with({ day: 1 }).startOfDay()
}

const startAfter = (interval: StatsInterval, at: Temporal.ZonedDateTime): Temporal.ZonedDateTime => {
  const next = at.add(STEPS[interval])
  if (interval !== 'hour') return next.startOfDay()
  // A clock change by half an hour would move the beginning of all later hours.
  const begin = startOf(interval, next)
  return begin.epochMilliseconds > at.epochMilliseconds ? begin : next
}
