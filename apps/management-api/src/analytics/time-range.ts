import {
  EARLIEST_ANALYTICS_TIME,
  LATEST_ANALYTICS_TIME,
  MAX_ANALYTICS_DAYS,
} from '@waymark/contracts/http/analytics-parts'
import type { StatsInterval } from '@waymark/contracts/http/stats'
import { dateOfTime } from '@waymark/contracts/rfc3339'
import { bucketAfter, isTimeZone, type TimeRange, zonedBuckets } from '@waymark/event-store'
import { unprocessable } from '../http/validation.ts'

const DAY_MS = 24 * 60 * 60 * 1000
const DEFAULT_SPAN_MS = 30 * DAY_MS

/**
 * Reads a time range.
 * @throws AppError unprocessable when it is invalid, too long, or outside the supported times
 */
export const readRange = ({ from: begin, to: end }: { from: string; to: string }): TimeRange => {
  const [from, to] = [dateOfTime(begin).getTime(), dateOfTime(end).getTime()]
  if (from >= to) throw unprocessable('from', 'order', 'must be before to', begin)
  if (from < Date.parse(EARLIEST_ANALYTICS_TIME))
    throw unprocessable('from', 'minimum', `must not be before ${EARLIEST_ANALYTICS_TIME}`, begin)
  if (to > Date.parse(LATEST_ANALYTICS_TIME))
    throw unprocessable('to', 'maximum', `must not be after ${LATEST_ANALYTICS_TIME}`, end)
  if (to - from > MAX_ANALYTICS_DAYS * DAY_MS)
    throw unprocessable('to', 'max_days', `must be at most ${MAX_ANALYTICS_DAYS} days after from`, end)
  return { from, to }
}

/** Reads the optional time range of a query string. The default is the last 30 days. */
export const readOptionalRange = (
  { from, to }: { from?: string | undefined; to?: string | undefined },
  now: number,
): TimeRange => {
  const end = to ?? new Date(now).toISOString()
  return readRange({
    from: from ?? new Date(dateOfTime(end).getTime() - DEFAULT_SPAN_MS).toISOString(),
    to: end,
  })
}

/** @throws AppError unprocessable for an unknown time zone */
export const readTimeZone = (name = 'UTC'): string => {
  if (isTimeZone(name)) return name
  throw unprocessable('timeZone', 'time_zone', 'must be an IANA time zone such as Europe/Berlin', name)
}

/** The beginnings of all intervals in a range. @throws AppError unprocessable when they are more than `max` */
export const readBuckets = (
  interval: StatsInterval,
  timeZone: string,
  { from, to }: TimeRange,
  max: number,
): number[] => {
  const buckets = zonedBuckets(interval, timeZone, from, to, max)
  if (buckets) return buckets
  throw unprocessable(
    'interval',
    'max_buckets',
    `gives more than ${max} buckets between from and to; choose a longer interval or a shorter range`,
    interval,
  )
}

/** The beginnings of `count` intervals after the one that begins at `start`. */
export const bucketsAfter = (
  interval: StatsInterval,
  timeZone: string,
  start: number,
  count: number,
): number[] => {
  const found: number[] = []
  for (let at = start; found.length < count; found.push(at)) at = bucketAfter(interval, timeZone, at, 1)
  return found
}

/** A time in the format of responses. */
export const timeText = (ms: number): string => new Date(ms).toISOString()
