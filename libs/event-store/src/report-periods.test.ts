import fc from 'fast-check'
import { Temporal } from 'temporal-polyfill'
import { describe, expect, it } from 'vitest'
import { newestReportPeriod, REPORT_SETTLE_MS } from './report-periods.ts'

const at = (time: string): number => Date.parse(time)
const text = (ms: number): string => new Date(ms).toISOString().slice(0, 16)
const zoned = (ms: number, timeZone: string) =>
  Temporal.Instant.fromEpochMilliseconds(ms).toZonedDateTimeISO(timeZone)

describe('newestReportPeriod', () => {
  it.each([
    // From the moment on at which it is due, and one before.
    ['day', 'Europe/Berlin', 7, '2026-11-28T06:00:00Z', ['2026-11-26T23:00', '2026-11-27T23:00']],
    ['day', 'Europe/Berlin', 7, '2026-11-28T05:59:59.999Z', ['2026-11-25T23:00', '2026-11-26T23:00']],
    ['week', 'UTC', 7, '2026-11-30T07:00:00Z', ['2026-11-23T00:00', '2026-11-30T00:00']],
    ['week', 'UTC', 7, '2026-11-30T06:59:59Z', ['2026-11-16T00:00', '2026-11-23T00:00']],
    ['month', 'UTC', 0, '2024-03-01T00:05:00Z', ['2024-02-01T00:00', '2024-03-01T00:00']],
    ['month', 'UTC', 0, '2024-03-01T00:04:59Z', ['2024-01-01T00:00', '2024-02-01T00:00']],
    // A day of 23 hours.
    ['day', 'Europe/Berlin', 7, '2026-03-30T05:00:00Z', ['2026-03-28T23:00', '2026-03-29T22:00']],
    // The week that begins with the new time, after the one that ends with the old time.
    ['week', 'America/New_York', 9, '2026-03-09T13:00:00Z', ['2026-03-02T05:00', '2026-03-09T04:00']],
  ] as const)('by %s in %s at %i o’clock, at %s', (interval, timeZone, hour, now, expected) => {
    const { from, to } = newestReportPeriod({ interval, timeZone, hour }, at(now))
    expect([text(from), text(to)]).toEqual(expected)
  })

  it('is due an hour later where the clock skips the hour, and at the first one of two', () => {
    const due = (hour: number, now: string) =>
      text(newestReportPeriod({ interval: 'day', timeZone: 'Europe/Berlin', hour }, at(now)).dueAt)
    expect(due(2, '2026-03-29T12:00:00Z')).toBe('2026-03-29T01:00')
    expect(due(2, '2026-10-25T12:00:00Z')).toBe('2026-10-25T00:00')
  })

  it('gives one whole period after another, each due once at the hour of the clock', () => {
    const zones = fc.constantFrom(
      'UTC',
      'Europe/Berlin',
      'America/St_Johns',
      'Australia/Lord_Howe',
      'Asia/Beirut',
      'America/Santiago',
      'Africa/Cairo',
      'America/Sao_Paulo',
      'Pacific/Apia',
    )
    fc.assert(
      fc.property(
        zones,
        fc.constantFrom('day' as const, 'week' as const, 'month' as const),
        fc.integer({ min: 0, max: 23 }),
        fc.integer({ min: at('2000-01-01'), max: at('2040-01-01') }),
        (timeZone, interval, hour, now) => {
          const schedule = { interval, timeZone, hour }
          const { before, from, to, dueAt, nextDueAt } = newestReportPeriod(schedule, now)
          expect(dueAt).toBeLessThanOrEqual(now)
          expect(nextDueAt).toBeGreaterThan(now)
          expect(newestReportPeriod(schedule, nextDueAt)).toMatchObject({
            before: from,
            from: to,
            dueAt: nextDueAt,
          })
          expect(newestReportPeriod(schedule, nextDueAt - 1)).toMatchObject({ from, to })
          for (const start of [before, from, to]) {
            const local = zoned(start, timeZone)
            expect(local.equals(local.startOfDay())).toBe(true)
            if (interval === 'week') expect(local.dayOfWeek).toBe(1)
            if (interval === 'month') expect(local.day).toBe(1)
          }
          const due = zoned(to, timeZone).withPlainTime({ hour }).epochMilliseconds
          expect(dueAt).toBe(Math.max(due, to + REPORT_SETTLE_MS))
        },
      ),
    )
  })
})
