import { describe, expect, it } from 'vitest'
import type { Queries } from './query-types.ts'
import {
  filterValue,
  formatQuery,
  parseQuery,
  readSaved,
  searchOf,
  searchOfSaved,
  toSaved,
  typedValue,
  validQueryOf,
  valueText,
} from './query-url.ts'

const RANGE = { preset: '30d' } as const

const trends: Queries['trends'] = {
  series: [
    {
      eventName: 'order placed & paid',
      metric: 'sum',
      property: 'properties.total',
      filters: [
        { property: 'traits.plan', op: 'in', value: ['pro', 7, true] },
        { property: 'context.country', op: 'exists' },
      ],
    },
    { metric: 'people' },
  ],
  interval: 'week',
  timeZone: 'Europe/Berlin',
  breakdown: 'utm.source',
  limit: 3,
  compareTo: 'previous_period',
  includeBots: true,
}
const funnel: Queries['funnel'] = {
  steps: [{ eventName: 'a' }, { eventName: 'b', filters: [{ property: 'link', op: 'eq', value: '7' }] }],
  windowSeconds: 3_600,
  breakdown: 'campaign',
  order: 'any',
}
const retention: Queries['retention'] = {
  startEvent: 'a',
  returnEvent: 'b',
  interval: 'month',
  periods: 12,
  timeZone: 'UTC',
}
const paths: Queries['paths'] = { startEvent: 'a', endEvent: 'b', depth: 6, limit: 10 }

describe('a query in a URL', () => {
  it.each([
    ['trends', trends],
    ['funnel', funnel],
    ['retention', retention],
    ['paths', paths],
  ] as const)('is unchanged after a round trip: %s', (kind, query) => {
    expect(parseQuery(kind, formatQuery(kind, query as never), RANGE)).toEqual(query)
    expect(readSaved(kind, toSaved(kind, query as never, RANGE))).toMatchObject({ query, range: undefined })
  })

  it.each([
    ['nothing', {}],
    [
      'no JSON',
      {
        series: '[{',
        interval: 'year',
        limit: '0',
        timeZone: 'Mars/Olympus',
        includeBots: 'yes',
        compareTo: 'x',
      },
    ],
    ['another shape', { series: '{"metric":"events"}' }],
    ['series without a metric', { series: '[{"metric":"toString"},null,7]' }],
  ])('defaults to a new query for %s', (_what, search) => {
    expect(parseQuery('trends', search, RANGE)).toEqual({
      series: [{ metric: 'events' }],
      interval: 'day',
    })
  })

  it('drops filters with an unknown operator', () => {
    const steps = JSON.stringify([{ eventName: 'a', filters: [{ property: 'link', op: 'like', value: 1 }] }])
    expect(parseQuery('funnel', { steps }, RANGE).steps).toEqual([{ eventName: 'a' }])
  })

  it('clamps numbers to their limits', () => {
    expect(parseQuery('paths', { depth: '6', limit: '500' }, RANGE)).toEqual({ depth: 6, limit: 500 })
    expect(parseQuery('paths', { depth: '7', limit: '501' }, RANGE)).toEqual({ depth: 4, limit: 50 })
  })
})

describe('the query of a form', () => {
  it('omits incomplete filters', () => {
    const filters = [
      { property: '', op: 'eq' as const, value: 'x' },
      { property: 'link', op: 'eq' as const },
      { property: 'link', op: 'in' as const, value: [] },
      { property: 'link', op: 'not_exists' as const },
    ]
    const validQuery = validQueryOf('funnel', {
      ...funnel,
      steps: [{ eventName: 'a', filters }, { eventName: '' }, { eventName: 'b' }],
    })
    expect(validQuery?.steps).toEqual([
      { eventName: 'a', filters: [{ property: 'link', op: 'not_exists' }] },
      { eventName: 'b' },
    ])
  })

  it('is undefined while the form is incomplete', () => {
    expect(validQueryOf('funnel', { steps: [{ eventName: 'a' }], windowSeconds: 1 })).toBeUndefined()
    expect(validQueryOf('retention', { ...retention, returnEvent: '' })).toBeUndefined()
    expect(validQueryOf('trends', { series: [{ metric: 'sum' }], interval: 'day' })).toBeUndefined()
  })
})

describe('a saved query', () => {
  const between = { from: '2026-01-01T00:00:00.000Z', to: '2026-02-01T00:00:00.000Z' }

  it('keeps an absolute range', () => {
    expect(readSaved('paths', toSaved('paths', paths, between))).toEqual({ query: paths, range: between })
  })

  it('can be opened from its page parameters', () => {
    const search = searchOfSaved({ id: 'i', kind: 'paths', query: toSaved('paths', paths, between) })
    expect(search).toEqual({ ...paths, depth: '6', limit: '10', ...between, insight: 'i' })
    expect(searchOf('paths', paths, RANGE)).toMatchObject({ range: '30d', from: '', to: '', depth: '6' })
  })
})

describe('a value to compare with', () => {
  it.each([
    ['10', ['number'], 10],
    ['10', ['string'], '10'],
    ['10', ['number', 'string'], 10],
    ['"10"', ['number', 'string'], '10'],
    ['true', ['boolean'], true],
    ['true', ['string'], 'true'],
    ['-2.5', [], -2.5],
    ['Infinity', ['number'], 'Infinity'],
    [' pro ', [], 'pro'],
  ] as const)('%s of %j is %j', (text, types, value) => {
    expect(typedValue(text, types)).toBe(value)
    expect(typedValue(valueText(value, types), types)).toBe(value)
  })

  it('is a list for list operators, and always text for text operators', () => {
    expect(filterValue('in', 'a, 7,,', [])).toEqual(['a', 7])
    expect(filterValue('contains', '7', [])).toBe('7')
    expect(filterValue('exists', 'x', [])).toBeUndefined()
    expect(valueText(['a', 7, '7'], [])).toBe('a, 7, "7"')
  })
})
