import { describe, expect, it } from 'vitest'
import type { Queries, Results } from './query-types.ts'
import { bucketRange, lineFilters, trendLines } from './trend-lines.ts'

type Found = Results['trends']['series'][number]
const found = (fields: Partial<Found>): Found => ({
  series: 0,
  eventName: null,
  metric: 'events',
  group: null,
  other: false,
  currency: null,
  total: 0,
  values: [0, 0],
  ...fields,
})
const BUCKETS = ['2026-01-01T00:00:00.000Z', '2026-01-02T00:00:00.000Z']
const lines = (query: Queries['trends'], series: Found[]) => trendLines(query, { buckets: BUCKETS, series })

describe('the lines of a trend', () => {
  it('are named by metric, group and currency', () => {
    const query: Queries['trends'] = {
      interval: 'day',
      breakdown: 'context.country',
      series: [{ metric: 'people', eventName: 'view' }, { metric: 'revenue' }],
    }
    const shown = lines(query, [
      found({ group: 'DE' }),
      found({ group: null }),
      found({ other: true }),
      found({ series: 1, group: 'DE', currency: 'EUR', total: 150 }),
    ])
    expect(shown.map(({ label }) => label)).toEqual([
      'People of view · DE',
      'People of view · not set',
      'People of view · all others',
      'Revenue of all events · DE · EUR',
    ])
    expect(shown[3]?.format(150)).toContain('1.5')
  })

  it('have unique names, also for identical series', () => {
    const query: Queries['trends'] = { interval: 'day', series: [{ metric: 'events' }, { metric: 'events' }] }
    expect(lines(query, [found({}), found({ series: 1 })]).map(({ label }) => label)).toEqual([
      'All events',
      'All events (2)',
    ])
  })

  it('contain the filters of their events', () => {
    const query: Queries['trends'] = {
      interval: 'day',
      breakdown: 'properties.size',
      series: [{ metric: 'events', filters: [{ property: 'link', op: 'exists' }] }],
    }
    const shown = lines(query, [found({ group: '4' }), found({}), found({ other: true })])
    const filters = shown.map((line) => lineFilters(query, shown, line, Number))
    const common = [
      { property: 'link', op: 'exists' },
      { property: 'context.bot', op: 'neq', value: true },
    ]
    expect(filters).toEqual([
      [...common, { property: 'properties.size', op: 'eq', value: 4 }],
      [...common, { property: 'properties.size', op: 'not_exists' }],
      [
        ...common,
        { property: 'properties.size', op: 'exists' },
        { property: 'properties.size', op: 'not_in', value: [4] },
      ],
    ])
  })
})

it('limits a bucket to the range', () => {
  const range = { from: '2026-01-01T10:00:00.000Z', to: '2026-01-02T12:00:00.000Z' }
  expect(bucketRange(BUCKETS, 0, range)).toEqual({ from: range.from, to: BUCKETS[1] })
  expect(bucketRange(BUCKETS, 1, range)).toEqual({ from: BUCKETS[1], to: range.to })
})
