import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { bucketAfter, isTimeZone, previousPeriod, zonedBuckets } from './zoned-buckets.ts'

const at = (time: string): number => Date.parse(time)
const starts = (interval: 'hour' | 'day' | 'week' | 'month', zone: string, from: string, to: string) =>
  zonedBuckets(interval, zone, at(from), at(to), 1_000)?.map((start) =>
    new Date(start).toISOString().slice(0, 16),
  )

describe('zonedBuckets', () => {
  it.each([
    ['hour', '2024-03-01T10:20:00Z', '2024-03-01T12:00:00Z', ['2024-03-01T10:00', '2024-03-01T11:00']],
    ['day', '2024-02-29T23:00:00Z', '2024-03-01T00:00:00.001Z', ['2024-02-29T00:00', '2024-03-01T00:00']],
    ['week', '2024-03-03T23:59:59Z', '2024-03-11T00:00:00Z', ['2024-02-26T00:00', '2024-03-04T00:00']],
    ['month', '2023-12-31T00:00:00Z', '2024-02-01T00:00:00Z', ['2023-12-01T00:00', '2024-01-01T00:00']],
    ['day', '2024-03-01T00:00:00Z', '2024-03-01T00:00:00Z', []],
  ] as const)('by %s in UTC from %s to %s', (interval, from, to, expected) => {
    expect(starts(interval, 'UTC', from, to)).toEqual(expected)
  })

  it('follow each other without a gap and hold the whole time, before the epoch as well', () => {
    const MONTH_MS = 32 * 24 * 3_600_000
    fc.assert(
      fc.property(
        fc.constantFrom('hour' as const, 'day' as const, 'week' as const, 'month' as const),
        fc.integer({ min: Date.parse('1960-01-01'), max: Date.parse('2100-01-01') }),
        fc.integer({ min: 1, max: MONTH_MS }),
        (interval, from, length) => {
          const buckets = zonedBuckets(interval, 'UTC', from, from + length, 1_000) ?? []
          expect(buckets[0]).toBeLessThanOrEqual(from)
          expect(buckets.at(-1)).toBeLessThan(from + length)
          buckets.forEach((start, index) => {
            const next = bucketAfter(interval, 'UTC', start, 1)
            if (index < buckets.length - 1) expect(buckets[index + 1]).toBe(next)
            else expect(next).toBeGreaterThanOrEqual(from + length)
          })
        },
      ),
      { numRuns: 30 },
    )
  })

  it('begins days at local midnight, also where the clock changes', () => {
    expect(starts('day', 'Europe/Berlin', '2026-03-28T12:00:00Z', '2026-03-31T00:00:00Z')).toEqual([
      '2026-03-27T23:00',
      '2026-03-28T23:00',
      '2026-03-29T22:00',
      '2026-03-30T22:00',
    ])
  })

  it('begins a day at its first moment where midnight does not exist', () => {
    expect(starts('day', 'America/Santiago', '2026-09-06T12:00:00Z', '2026-09-06T13:00:00Z')).toEqual([
      '2026-09-06T04:00',
    ])
  })

  it.each([
    // The clock goes from 24:00 back to 23:00, or from 01:00 to 00:00.
    ['America/Sao_Paulo', '2018-02-17T12:00:00Z', ['2018-02-17T02:00', '2018-02-18T03:00']],
    ['Africa/Cairo', '2024-10-31T12:00:00Z', ['2024-10-30T21:00', '2024-10-31T22:00']],
    ['America/Havana', '2025-11-02T12:00:00Z', ['2025-11-02T04:00', '2025-11-03T05:00']],
    // A day that does not exist.
    ['Pacific/Apia', '2011-12-29T12:00:00Z', ['2011-12-29T10:00', '2011-12-30T10:00']],
    ['Asia/Kolkata', '2026-06-01T12:00:00Z', ['2026-05-31T18:30', '2026-06-01T18:30']],
  ])('begins the days of %s at %s at midnight', (zone, from, expected) => {
    const to = new Date(at(from) + 86_400_000).toISOString()
    expect(starts('day', zone, from, to)).toEqual(expected)
  })

  it('has the hour that a change of the clock repeats twice', () => {
    expect(starts('hour', 'Europe/Berlin', '2026-10-25T00:00:00Z', '2026-10-25T03:00:00Z')).toHaveLength(3)
  })

  it.each([
    // The clock goes forward from 02:00 to 02:30, back from 02:00 to 01:30, and back from 00:30 to 00:00.
    ['Australia/Lord_Howe', '2026-10-03T14:30', ['2026-10-03T15:30', '2026-10-03T16:00']],
    ['Australia/Lord_Howe', '2026-04-04T14:00', ['2026-04-04T15:00', '2026-04-04T15:30']],
    ['Asia/Colombo', '2006-04-14T18:00', ['2006-04-14T18:30', '2006-04-14T19:30']],
  ])('begins hours on the hour in %s after the clock changes by half an hour', (zone, from, later) => {
    const to = new Date(at(`${later[1]}Z`) + 1).toISOString()
    expect(starts('hour', zone, `${from}Z`, to)).toEqual([from, ...later])
  })

  it('begins weeks on Monday and months on their first', () => {
    expect(starts('week', 'UTC', '2026-11-24T00:00:00Z', '2026-12-01T00:00:00Z')).toEqual([
      '2026-11-23T00:00',
      '2026-11-30T00:00',
    ])
    expect(starts('month', 'Asia/Kathmandu', '2026-01-15T00:00:00Z', '2026-02-15T00:00:00Z')).toEqual([
      '2025-12-31T18:15',
      '2026-01-31T18:15',
    ])
  })

  it('returns at most the allowed number of buckets', () => {
    const days = (max: number) => zonedBuckets('day', 'UTC', at('2026-01-01'), at('2026-01-04'), max)
    expect(days(3)).toHaveLength(3)
    expect(days(2)).toBeUndefined()
  })

  it('leaves no gap, covers the range and begins at quarters of an hour', () => {
    const zones = fc.constantFrom(
      'UTC',
      'Europe/Berlin',
      'America/St_Johns',
      'Australia/Lord_Howe',
      'Asia/Kathmandu',
      'Asia/Beirut',
      'America/Santiago',
      'Africa/Cairo',
      'America/Sao_Paulo',
    )
    const intervals = fc.constantFrom('hour' as const, 'day' as const, 'week' as const, 'month' as const)
    const time = fc.integer({ min: at('2000-01-01'), max: at('2040-01-01') })
    fc.assert(
      fc.property(
        zones,
        intervals,
        time,
        fc.integer({ min: 1, max: 90 * 86_400_000 }),
        (zone, interval, from, span) => {
          const buckets = zonedBuckets(interval, zone, from, from + span, 10_000) ?? []
          expect(buckets[0]).toBeLessThanOrEqual(from)
          expect(buckets.at(-1)).toBeLessThan(from + span)
          expect(buckets.filter((start) => start % 900_000 !== 0)).toEqual([])
          const followed = buckets.slice(0, -1)
          expect(followed.map((start) => bucketAfter(interval, zone, start, 1))).toEqual(buckets.slice(1))
        },
      ),
    )
  })
})

describe('isTimeZone', () => {
  it.each(['UTC', 'Europe/Berlin', 'America/New_York'])('accepts %s', (name) => {
    expect(isTimeZone(name)).toBe(true)
  })
  it.each(['', 'Berlin', '+01:00', "UTC'; --"])('refuses %j', (name) => {
    expect(isTimeZone(name)).toBe(false)
  })
})

describe('previousPeriod', () => {
  const previous = (interval: 'hour' | 'day' | 'week' | 'month', zone: string, from: string, to: string) => {
    const range = { from: at(from), to: at(to) }
    const buckets = zonedBuckets(interval, zone, range.from, range.to, 1_000) ?? []
    const found = previousPeriod(interval, zone, { ...range, buckets })
    expect(found.buckets).toHaveLength(buckets.length)
    return [found.from, found.to, ...found.buckets].map((ms) => new Date(ms).toISOString().slice(0, 16))
  }

  it('ends where whole days begin, also across a change of the clock', () => {
    expect(previous('day', 'Europe/Berlin', '2026-03-28T23:00:00Z', '2026-03-30T22:00:00Z')).toEqual([
      '2026-03-26T23:00',
      '2026-03-28T23:00',
      '2026-03-26T23:00',
      '2026-03-27T23:00',
    ])
  })

  it.each([
    ['America/Sao_Paulo', '2018-11-03T03:00', '2018-11-04T03:00', '2018-11-05T02:00'],
    ['Africa/Cairo', '2024-04-24T22:00', '2024-04-25T22:00', '2024-04-26T21:00'],
    ['Asia/Beirut', '2025-03-28T22:00', '2025-03-29T22:00', '2025-03-30T21:00'],
  ])('is the whole day before in %s, where a clock changes at midnight', (zone, before, begin, end) => {
    expect(previous('day', zone, `${begin}Z`, `${end}Z`)).toEqual([before, begin, before])
    const following = new Date(at(`${end}Z`) + 86_400_000).toISOString()
    expect(previous('day', zone, `${end}Z`, following)).toEqual([begin, end, begin])
    const earlier = new Date(at(`${before}Z`) - 86_400_000).toISOString().slice(0, 16)
    expect(previous('day', zone, `${before}Z`, `${begin}Z`)).toEqual([earlier, before, earlier])
  })

  it('is the month before', () => {
    expect(previous('month', 'UTC', '2026-03-01T00:00:00Z', '2026-04-01T00:00:00Z')).toEqual([
      '2026-02-01T00:00',
      '2026-03-01T00:00',
      '2026-02-01T00:00',
    ])
  })

  it('is rounded up to whole intervals', () => {
    expect(previous('week', 'UTC', '2026-11-25T00:00:00Z', '2026-12-05T00:00:00Z')).toEqual([
      '2026-11-11T00:00',
      '2026-11-21T00:00',
      '2026-11-09T00:00',
      '2026-11-16T00:00',
    ])
    expect(previous('hour', 'UTC', '2026-11-25T10:07:00Z', '2026-11-25T11:09:00Z')).toEqual([
      '2026-11-25T08:07',
      '2026-11-25T09:09',
      '2026-11-25T08:00',
      '2026-11-25T09:00',
    ])
  })
})
