import { startOf, zonedTime } from './zoned-buckets.ts'

/** What a report is about: whole days, weeks from Monday, or months. */
type ReportInterval = 'day' | 'week' | 'month'

/** When reports are due: at an hour (0 to 23) of the day after their period, by the clock of the time zone. */
export type ReportSchedule = { interval: ReportInterval; timeZone: string; hour: number }

/** A period of a report, in ms since the epoch. */
export type ReportPeriod = {
  /** The beginning of the period before, which it is compared with. */
  before: number
  from: number
  /** Its end, exclusive. */
  to: number
  /** When its report is due. */
  dueAt: number
  /** When the report of the next period is due. */
  nextDueAt: number
}

/** After the end of a period, until its events are stored. */
export const REPORT_SETTLE_MS = 5 * 60_000

/**
 * The newest period whose report is due at `now` (ms, UTC). Where a change of the clock skips the hour, the report is due
 * that much later; where it repeats the hour, at the first one.
 */
export const newestReportPeriod = (schedule: ReportSchedule, now: number): ReportPeriod => {
  const { interval, timeZone } = schedule
  const startBefore = (start: number): number =>
    startOf(interval, zonedTime(start - 1, timeZone)).epochMilliseconds
  const current = startOf(interval, zonedTime(now, timeZone)).epochMilliseconds
  const to = dueAfter(schedule, current) <= now ? current : startBefore(current)
  const from = startBefore(to)
  const next = startOf(interval, zonedTime(to, timeZone).add({ [`${interval}s`]: 1 })).epochMilliseconds
  return {
    before: startBefore(from),
    from,
    to,
    dueAt: dueAfter(schedule, to),
    nextDueAt: dueAfter(schedule, next),
  }
}

/** When the report of the period that ends at `to` is due. */
const dueAfter = ({ timeZone, hour }: ReportSchedule, to: number): number => {
  const date = zonedTime(to, timeZone).toPlainDate()
  const due = date.toZonedDateTime({ timeZone, plainTime: { hour } }).epochMilliseconds
  return Math.max(due, to + REPORT_SETTLE_MS)
}
