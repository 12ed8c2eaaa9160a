import { Temporal } from 'temporal-polyfill'
import { localZone } from '../ui/local-zone.ts'
import type { Interval } from './query-types.ts'

/** Relative ranges by their names in URLs. */
export const PRESETS = {
  '1d': 'Today',
  '7d': 'Last 7 days',
  '14d': 'Last 14 days',
  '30d': 'Last 30 days',
  '90d': 'Last 90 days',
  '12m': 'Last 12 months',
} as const
export type Preset = keyof typeof PRESETS

/** A time range: relative to now, or between two times (RFC 3339). */
export type Range = { preset: Preset } | { from: string; to: string }

export const DEFAULT_RANGE: Range = { preset: '30d' }

const LENGTHS: Record<Preset, Temporal.DurationLike> = {
  '1d': { days: 0 },
  '7d': { days: 6 },
  '14d': { days: 13 },
  '30d': { days: 29 },
  '90d': { days: 89 },
  '12m': { months: 12 },
}

const HOUR_MS = 3_600_000
const INTERVALS: readonly (readonly [Interval, number])[] = [
  ['hour', HOUR_MS],
  ['day', 24 * HOUR_MS],
  ['week', 7 * 24 * HOUR_MS],
  ['month', 28 * 24 * HOUR_MS],
]

/** The user's IANA time zone. */
export const readerZone = localZone

const isTime = (text: string | undefined): text is string =>
  text !== undefined && !Number.isNaN(Date.parse(text))

/** The range in a URL: `range`, or `from` and `to`. */
export const parseRange = (search: { range?: string; from?: string; to?: string }): Range | undefined => {
  if (isTime(search.from) && isTime(search.to)) return { from: search.from, to: search.to }
  const { range = '' } = search
  return Object.hasOwn(PRESETS, range) ? { preset: range as Preset } : undefined
}

/** The inverse of `parseRange`; the other parameters are empty. */
export const formatRange = (range: Range | undefined): { range: string; from: string; to: string } => {
  if (range === undefined) return { range: '', from: '', to: '' }
  return 'preset' in range ? { range: range.preset, from: '', to: '' } : { range: '', ...range }
}

/** The start and end of a range (RFC 3339). A relative one starts at midnight in the time zone. */
export const resolveRange = (
  range: Range,
  timeZone: string,
  now = Date.now(),
): { from: string; to: string } => {
  if (!('preset' in range)) return range
  const at = Temporal.Instant.fromEpochMilliseconds(now).toZonedDateTimeISO(timeZone)
  const from = at.subtract(LENGTHS[range.preset]).startOfDay()
  return {
    from: new Date(from.epochMilliseconds).toISOString(),
    to: new Date(now).toISOString(),
  }
}

/** `interval`, or the next longer one with at most `max` intervals in the range. */
export const fitInterval = <I extends Interval>(
  interval: I,
  { from, to }: { from: string; to: string },
  max: number,
): I | Interval => {
  const span = Date.parse(to) - Date.parse(from)
  const shortest = INTERVALS.findIndex(([name]) => name === interval)
  const [fitting] = INTERVALS.find(([, ms], at) => at >= shortest && span / ms <= max) ?? ['month' as const]
  return fitting
}

/** The interval with a few dozen points in the range. */
export const usualInterval = (range: Range): Interval => {
  if (!('preset' in range)) return fitInterval('hour', range, 72)
  return range.preset === '1d' ? 'hour' : range.preset === '12m' ? 'month' : 'day'
}
