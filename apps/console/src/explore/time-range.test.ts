import { describe, expect, it } from 'vitest'
import { fitInterval, formatRange, parseRange, resolveRange, usualInterval } from './time-range.ts'

const NOW = Date.parse('2026-03-30T10:20:30Z')

describe('a time range', () => {
  it.each([
    ['1d', '2026-03-29T22:00:00.000Z'],
    ['7d', '2026-03-23T23:00:00.000Z'],
    ['14d', '2026-03-16T23:00:00.000Z'],
    ['30d', '2026-02-28T23:00:00.000Z'],
    ['12m', '2025-03-29T23:00:00.000Z'],
  ] as const)('of %s begins at local midnight, also across a clock change', (preset, from) => {
    expect(resolveRange({ preset }, 'Europe/Berlin', NOW)).toEqual({ from, to: new Date(NOW).toISOString() })
  })

  it('is unchanged after a round trip through the URL', () => {
    const between = { from: '2026-01-01T00:00:00.000Z', to: '2026-01-02T00:00:00.000Z' }
    expect(parseRange(formatRange({ preset: '90d' }))).toEqual({ preset: '90d' })
    expect(parseRange(formatRange(between))).toEqual(between)
    expect(resolveRange(between, 'UTC')).toEqual(between)
    expect(parseRange(formatRange(undefined))).toBeUndefined()
    expect(parseRange({ range: 'toString' })).toBeUndefined()
    expect(parseRange({ from: 'x', to: between.to })).toBeUndefined()
  })

  it('uses an interval with a few dozen points', () => {
    expect(usualInterval({ preset: '1d' })).toBe('hour')
    expect(usualInterval({ preset: '30d' })).toBe('day')
    expect(usualInterval({ from: '2026-01-01', to: '2026-01-03' })).toBe('hour')
    expect(usualInterval({ from: '2026-01-01', to: '2026-06-01' })).toBe('week')
  })

  it('lengthens an interval only if it gives too many buckets', () => {
    const days = (count: number) => ({
      from: '2026-01-01T00:00:00Z',
      to: new Date(Date.parse('2026-01-01T00:00:00Z') + count * 86_400_000).toISOString(),
    })
    expect(fitInterval('day', days(200), 200)).toBe('day')
    expect(fitInterval('day', days(201), 200)).toBe('week')
    expect(fitInterval('week', days(7), 200)).toBe('week')
    expect(fitInterval('hour', days(100_000), 200)).toBe('month')
  })
})
