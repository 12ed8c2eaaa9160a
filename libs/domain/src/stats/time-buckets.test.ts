import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { timeBuckets } from './time-buckets.ts'

const MONTH_MS = 32 * 24 * 3_600_000

const bucketsOf = (interval: 'hour' | 'day' | 'week' | 'month', from: string, to: string) =>
  timeBuckets(interval, Date.parse(from), Date.parse(to), 1_000)?.map((at) =>
    new Date(at).toISOString().slice(0, 16),
  )

describe('time buckets', () => {
  it.each([
    ['hour', '2024-03-01T10:20:00Z', '2024-03-01T12:00:00Z', ['2024-03-01T10:00', '2024-03-01T11:00']],
    ['day', '2024-02-29T23:00:00Z', '2024-03-01T00:00:00.001Z', ['2024-02-29T00:00', '2024-03-01T00:00']],
    ['week', '2024-03-03T23:59:59Z', '2024-03-11T00:00:00Z', ['2024-02-26T00:00', '2024-03-04T00:00']],
    ['month', '2023-12-31T00:00:00Z', '2024-02-01T00:00:00Z', ['2023-12-01T00:00', '2024-01-01T00:00']],
    ['day', '2024-03-01T00:00:00Z', '2024-03-01T00:00:00Z', []],
  ] as const)('by %s from %s to %s', (interval, from, to, expected) => {
    expect(bucketsOf(interval, from, to)).toEqual(expected)
  })

  it('follow each other without a gap and hold the whole time, before the epoch as well', () => {
    fc.assert(
      fc.property(
        fc.constantFrom('hour' as const, 'day' as const, 'week' as const, 'month' as const),
        fc.integer({ min: Date.parse('1960-01-01'), max: Date.parse('2100-01-01') }),
        fc.integer({ min: 1, max: MONTH_MS }),
        (interval, from, length) => {
          const buckets = timeBuckets(interval, from, from + length, 1_000) ?? []
          expect(buckets[0]).toBeLessThanOrEqual(from)
          expect(buckets.at(-1)).toBeLessThan(from + length)
          buckets.forEach((at, index) => {
            const next = timeBuckets(interval, at, at + MONTH_MS, 1_000)?.[1]
            if (index < buckets.length - 1) expect(buckets[index + 1]).toBe(next)
            else expect(next).toBeGreaterThanOrEqual(from + length)
          })
        },
      ),
    )
  })

  it('are no more than asked for', () => {
    const hours = (count: number) => timeBuckets('hour', 0, count * 3_600_000, 1_000)
    expect(hours(1_000)).toHaveLength(1_000)
    expect(hours(1_001)).toBeUndefined()
  })
})
