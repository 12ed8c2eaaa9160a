import { randomUUID } from 'node:crypto'
import {
  MAX_FUNNEL_STEPS,
  MAX_FUNNEL_WINDOW_SECONDS,
  MAX_PATH_DEPTH,
  MAX_PATH_LINKS,
  MAX_QUERY_BYTES,
  MAX_QUERY_VALUES,
  MAX_RETENTION_COHORTS,
  MAX_RETENTION_PERIODS,
  MAX_TREND_BUCKETS,
  MAX_TREND_SERIES,
  MAX_TREND_VALUES,
} from '@waymark/contracts/http/analytics'
import {
  MAX_ANALYTICS_DAYS,
  MAX_ANALYTICS_GROUPS,
  MAX_FILTER_TEXT_LENGTH,
  MAX_FILTER_VALUES,
  MAX_FILTERS,
  MAX_PROPERTY_NAME_LENGTH,
  MAX_QUERIES_PER_PROJECT,
} from '@waymark/contracts/http/analytics-parts'
import { propertyNameOf } from '@waymark/domain/analytics'
import type { EventStore } from '@waymark/event-store'
import { openClickHouseStore } from '@waymark/event-store/clickhouse'
import { createDuckDBStore, type DuckDBFile, openDuckDBFile } from '@waymark/event-store/duckdb'
import { anEnrichedEvent, CLOSED_PORT, services } from '@waymark/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Management, startManagement } from './start-management.ts'
import { type Json, startWorld, type World } from './world.ts'

const FROM = Date.parse('2025-01-01T00:00:00Z')
const DAY_MS = 24 * 60 * 60 * 1000
const daysOn = (days: number): string => new Date(FROM + days * DAY_MS).toISOString()
const range = { from: daysOn(0), to: daysOn(1) }
const many = <T>(count: number, item: T): T[] => Array.from({ length: count }, () => item)
const text = (length: number) => 'ä'.repeat(length)

const oneSeries = { metric: 'events' }
const trends = { series: [oneSeries], ...range, interval: 'day' }
const funnel = { steps: many(2, { eventName: 'a' }), ...range, windowSeconds: 60 }
const retention = { startEvent: 'a', returnEvent: 'b', ...range, interval: 'day', periods: 1 }
const paths = { ...range, depth: 3, limit: 10 }
const filter = { property: 'eventName', op: 'eq', value: 'a' }
const filtered = (...filters: object[]) => ({ ...trends, series: [{ ...oneSeries, filters }] })
const inValues = (count: number) => ({ property: 'eventName', op: 'in', value: many(count, 'a') })
const bytes = (length: number) => {
  const body = (padding: string) => filtered({ ...inValues(100), value: many(100, padding.slice(0, 500)) })
  const series = many(3, body('x'.repeat(198)).series[0])
  const sized = { ...trends, series: [...series, { ...oneSeries, eventName: 'x' }] }
  return `${JSON.stringify(sized)}${' '.repeat(length - JSON.stringify(sized).length)}`
}

describe.skipIf(!services)('analytics over HTTP', () => {
  let world: World
  beforeAll(async () => {
    world = await startWorld()
  })
  afterAll(() => world?.stop())

  const ask = (kind: string, body: unknown) => world.manage('POST', `analytics/${kind}`, body)

  it.each<[string, object, object, string]>([
    [
      'trends',
      { ...trends, series: many(MAX_TREND_SERIES, oneSeries) },
      { ...trends, series: many(MAX_TREND_SERIES + 1, oneSeries) },
      'series',
    ],
    ['trends', trends, { ...trends, series: [] }, 'series'],
    [
      'trends',
      { ...trends, to: daysOn(MAX_TREND_BUCKETS) },
      { ...trends, to: daysOn(MAX_TREND_BUCKETS + 1) },
      'interval',
    ],
    [
      'trends',
      { ...trends, to: daysOn(MAX_ANALYTICS_DAYS), interval: 'month' },
      { ...trends, to: daysOn(MAX_ANALYTICS_DAYS + 1), interval: 'month' },
      'to',
    ],
    [
      'trends',
      { ...trends, to: daysOn(MAX_TREND_VALUES / 100), breakdown: 'eventName', limit: 99 },
      { ...trends, to: daysOn(MAX_TREND_VALUES / 100 + 1), breakdown: 'eventName', limit: 99 },
      'limit',
    ],
    [
      'trends',
      { ...trends, breakdown: 'eventName', limit: MAX_ANALYTICS_GROUPS },
      { ...trends, breakdown: 'eventName', limit: MAX_ANALYTICS_GROUPS + 1 },
      'limit',
    ],
    [
      'trends',
      filtered(...many(MAX_FILTERS, filter)),
      filtered(...many(MAX_FILTERS + 1, filter)),
      'series.0.filters',
    ],
    [
      'trends',
      filtered(inValues(MAX_FILTER_VALUES)),
      filtered(inValues(MAX_FILTER_VALUES + 1)),
      'series.0.filters.0.value',
    ],
    [
      'trends',
      filtered(...many(MAX_QUERY_VALUES / 100, inValues(100))),
      {
        ...filtered(...many(MAX_QUERY_VALUES / 100, inValues(100))),
        series: [
          ...filtered(...many(MAX_QUERY_VALUES / 100, inValues(100))).series,
          ...filtered(filter).series,
        ],
      },
      'series',
    ],
    [
      'trends',
      filtered({ ...filter, value: text(MAX_FILTER_TEXT_LENGTH) }),
      filtered({ ...filter, value: text(MAX_FILTER_TEXT_LENGTH + 1) }),
      'series.0.filters.0.value',
    ],
    [
      'trends',
      filtered({ ...filter, property: `traits.${text(MAX_PROPERTY_NAME_LENGTH - 7)}` }),
      filtered({ ...filter, property: `traits.${text(MAX_PROPERTY_NAME_LENGTH - 6)}` }),
      'series.0.filters.0.property',
    ],
    [
      'trends',
      filtered({ ...filter, property: 'properties.a.b.c.d.e' }),
      filtered({ ...filter, property: 'properties.a.b.c.d.e.f' }),
      'series.0.filters.0.property',
    ],
    [
      'trends',
      { ...trends, series: [{ ...oneSeries, eventName: text(200) }] },
      { ...trends, series: [{ ...oneSeries, eventName: text(201) }] },
      'series.0.eventName',
    ],
    [
      'trends',
      { ...trends, from: '2000-01-01T00:00:00Z', to: '2000-01-02T00:00:00Z' },
      { ...trends, from: '1999-12-31T23:59:59Z', to: '2000-01-02T00:00:00Z' },
      'from',
    ],
    [
      'trends',
      { ...trends, from: '2199-12-31T00:00:00Z', to: '2200-01-01T00:00:00Z' },
      { ...trends, from: '2199-12-31T00:00:00Z', to: '2200-01-01T00:00:01Z' },
      'to',
    ],
    [
      'trends',
      { ...trends, series: [{ metric: 'p50', property: 'properties.a' }] },
      { ...trends, series: [{ metric: 'p50' }] },
      'series.0.property',
    ],
    [
      'trends',
      trends,
      { ...trends, series: [{ ...oneSeries, property: 'properties.a' }] },
      'series.0.property',
    ],
    ['trends', { ...trends, timeZone: 'Asia/Kathmandu' }, { ...trends, timeZone: 'Kathmandu' }, 'timeZone'],
    ['trends', trends, { ...trends, to: trends.from }, 'from'],
    ['trends', trends, { ...trends, group: 'a' }, 'group'],
    [
      'funnel',
      { ...funnel, steps: many(MAX_FUNNEL_STEPS, funnel.steps[0]) },
      { ...funnel, steps: many(MAX_FUNNEL_STEPS + 1, funnel.steps[0]) },
      'steps',
    ],
    ['funnel', funnel, { ...funnel, steps: funnel.steps.slice(1) }, 'steps'],
    [
      'funnel',
      { ...funnel, windowSeconds: MAX_FUNNEL_WINDOW_SECONDS },
      { ...funnel, windowSeconds: MAX_FUNNEL_WINDOW_SECONDS + 1 },
      'windowSeconds',
    ],
    [
      'funnel',
      { ...funnel, steps: [{ eventName: 'a', filters: many(MAX_FILTERS, filter) }, ...funnel.steps] },
      { ...funnel, steps: [{ eventName: 'a', filters: many(MAX_FILTERS + 1, filter) }, ...funnel.steps] },
      'steps.0.filters',
    ],
    [
      'retention',
      { ...retention, to: daysOn(MAX_RETENTION_COHORTS) },
      { ...retention, to: daysOn(MAX_RETENTION_COHORTS + 1) },
      'interval',
    ],
    [
      'retention',
      { ...retention, periods: MAX_RETENTION_PERIODS },
      { ...retention, periods: MAX_RETENTION_PERIODS + 1 },
      'periods',
    ],
    ['paths', { ...paths, depth: MAX_PATH_DEPTH }, { ...paths, depth: MAX_PATH_DEPTH + 1 }, 'depth'],
    ['paths', { ...paths, limit: MAX_PATH_LINKS }, { ...paths, limit: MAX_PATH_LINKS + 1 }, 'limit'],
  ])('accepts %s at a limit and refuses it beyond (%#)', async (kind, good, wrong, field) => {
    const taken = await ask(kind, good)
    expect([taken.status, taken.body.error]).toEqual([200, undefined])
    const refused = await ask(kind, wrong)
    expect(refused).toMatchObject({ status: 422, body: { errors: [{ field }] } })
    expect(refused.body.error).toContain(field)
  })

  it(`accepts a body of ${MAX_QUERY_BYTES} bytes and no more`, async () => {
    const post = (body: string) => world.manage('POST', 'analytics/trends', JSON.parse(body))
    expect((await post(bytes(MAX_QUERY_BYTES))).status).toBe(200)
    const padded = { ...trends, timeZone: 'x'.repeat(MAX_QUERY_BYTES) }
    expect((await world.manage('POST', 'analytics/trends', padded)).status).toBe(413)
  })

  const hostile = [
    `"quoted"`,
    `it's`,
    `'; DROP TABLE events; --`,
    'a.b',
    '$',
    '$.a[*]',
    '/a~b',
    'ключ 鍵 🔑',
    '__proto__',
    'constructor',
    '{p0:String}',
    '$p0',
    '%s \\ back',
    '*',
    '0',
    'tab\tand\nline',
    'x'.repeat(480),
  ]
  it.each(hostile)('reads the property %j by its exact name', async (key) => {
    const eventName = `hostile ${hostile.indexOf(key)}`
    const at = daysOn(0.5)
    const stored = anEnrichedEvent({
      projectId: world.projectId,
      receivedAt: at,
      event: { eventId: eventName, eventName, properties: JSON.parse(`{${JSON.stringify(key)}:7}`) },
    })
    await world.platform.eventStore.storeEvents([{ ...stored, timestamp: at, profileId: null }])
    const name = propertyNameOf('properties', [key])
    const series = [
      { eventName, metric: 'sum', property: name, filters: [{ property: name, op: 'eq', value: 7 }] },
      { eventName, metric: 'events', filters: [{ property: name, op: 'eq', value: key }] },
    ]
    const { status, body } = await ask('trends', { ...trends, series, breakdown: name })
    expect([status, body.series]).toEqual([
      200,
      [expect.objectContaining({ series: 0, group: '7', other: false, total: 7, values: [7] })],
    ])
    const query = new URLSearchParams({ eventName, ...range })
    expect((await world.manage('GET', `analytics/properties?${query}`)).body).toEqual({
      data: [{ name, types: ['number'], share: 1, lastSeen: at }],
    })
    query.set('property', name)
    query.set('q', '7')
    expect((await world.manage('GET', `analytics/property-values?${query}`)).body).toEqual({
      data: [{ value: '7', events: 1 }],
    })
  })

  it('suggests only properties that a query can name', async () => {
    const eventName = 'odd keys'
    const most = 'ä'.repeat(MAX_PROPERTY_NAME_LENGTH - 'properties.'.length)
    const at = daysOn(0.5)
    const properties = {
      '': 1,
      [most]: 2,
      [`${most}ä`]: 3,
      [`.${most.slice(2)}`]: 4,
      [`.${most.slice(1)}`]: 5,
    }
    const made = anEnrichedEvent({
      projectId: world.projectId,
      receivedAt: at,
      event: { eventName, properties },
    })
    await world.platform.eventStore.storeEvents([{ ...made, timestamp: at }])
    const query = new URLSearchParams({ eventName, ...range })
    const { body } = await world.manage('GET', `analytics/properties?${query}`)
    const names = (body.data as { name: string }[]).map(({ name }) => name)
    expect(names).toEqual([propertyNameOf('properties', [`.${most.slice(2)}`]), `properties.${most}`])
    for (const breakdown of names) expect((await ask('trends', { ...trends, breakdown })).status).toBe(200)
  })

  it.each(['price', '', 'properties.'])('refuses the property %j', async (property) => {
    const refused = await ask('trends', { ...trends, breakdown: property })
    expect(refused).toMatchObject({ status: 422, body: { errors: [{ field: 'breakdown' }] } })
    const query = new URLSearchParams({ property })
    const values = await world.manage('GET', `analytics/property-values?${query}`)
    expect(values).toMatchObject({ status: 422, body: { errors: [{ field: 'property' }] } })
  })

  it('reads lone surrogates like events', async () => {
    expect((await ask('trends', filtered({ ...filter, value: '\ud800' }))).status).toBe(200)
  })

  it('refuses unknown parameters, and values that do not fit', async () => {
    expect((await world.manage('GET', 'analytics/properties?name=a')).status).toBe(400)
    expect((await world.manage('GET', 'analytics/property-values')).status).toBe(422)
    expect((await world.manage('GET', 'analytics/property-values?property=traits.%00')).status).toBe(422)
    expect((await world.manage('GET', 'analytics/properties?limit=501')).status).toBe(422)
    expect((await world.manage('GET', 'analytics/properties?limit=500')).status).toBe(200)
  })

  it('sees no events of another project', async () => {
    const eventName = 'foreign'
    const made = anEnrichedEvent({ projectId: randomUUID(), event: { eventName, properties: { secret: 1 } } })
    await world.platform.eventStore.storeEvents([{ ...made, timestamp: daysOn(0.5) }])
    const { body } = await ask('trends', { ...trends, series: [{ eventName, metric: 'events' }] })
    expect(body.series).toMatchObject([{ total: 0, values: [0] }])
    const query = new URLSearchParams({ eventName, ...range })
    expect((await world.manage('GET', `analytics/properties?${query}`)).body).toEqual({ data: [] })
  })

  it('is not written into the audit log', async () => {
    expect((await ask('paths', paths)).status).toBe(200)
    const { body } = await world.manage('GET', 'audit-log?operation=measurePaths')
    expect(body.data).toEqual([])
  })
})

describe.skipIf(!services)('concurrent queries', () => {
  let management: Management
  const waiting: (() => void)[] = []
  beforeAll(async () => {
    management = await startManagement({
      adapt: (platform) => ({
        ...platform,
        eventStore: {
          ...platform.eventStore,
          queriesUntil: (signal) => ({
            ...platform.eventStore.queriesUntil(signal),
            measurePaths: async () => {
              await new Promise<void>((resolve) => waiting.push(resolve))
              return []
            },
          }),
        },
      }),
    })
  })
  afterAll(() => management?.stop())

  it(`are ${MAX_QUERIES_PER_PROJECT} of a project, beside those of another`, async () => {
    const asking = async () => {
      const { account } = await management.register()
      const projectId = account.projects[0]?.id ?? ''
      const headers = { 'X-API-Key': await management.key(projectId), 'Content-Type': 'application/json' }
      return (method: string, path: string, body?: Json) =>
        fetch(`${management.url}/api/projects/${projectId}/${path}`, {
          method,
          headers,
          ...(body && { body: JSON.stringify(body) }),
        })
    }
    const [one, another] = [await asking(), await asking()]
    const slow = many(MAX_QUERIES_PER_PROJECT, null).map(() => one('POST', 'analytics/paths', paths))
    await expect.poll(() => waiting.length).toBe(MAX_QUERIES_PER_PROJECT)
    const refused = await one('POST', 'analytics/trends', trends)
    expect([refused.status, refused.headers.get('Retry-After')]).toEqual([429, '1'])
    expect(await refused.json()).toMatchObject({ retryAfterSeconds: 1 })
    expect((await one('GET', 'stats?metric=events')).status).toBe(429)
    expect((await another('POST', 'analytics/trends', trends)).status).toBe(200)
    for (const answer of waiting) answer()
    expect((await Promise.all(slow)).map(({ status }) => status)).toEqual(slow.map(() => 200))
    expect((await one('POST', 'analytics/trends', trends)).status).toBe(200)
  })
})

describe.skipIf(!services)('queries whose client disconnects', () => {
  let management: Management
  let file: DuckDBFile
  let asked = 0
  beforeAll(async () => {
    const limits = { memoryBytes: 256 * 1024 * 1024, threads: 2, queryTimeoutMs: 600_000 }
    file = await openDuckDBFile({ path: ':memory:', ...limits })
    management = await startManagement({
      adapt: (platform) => ({
        ...platform,
        eventStore: {
          ...createDuckDBStore(file),
          queriesUntil: (signal) => ({
            ...createDuckDBStore(file).queriesUntil(signal),
            // A statement that takes hours.
            measurePaths: ({ projectId }) => {
              asked++
              return file.query(projectId, 'SELECT sum(range) FROM range(100000000000000)', {}, { signal })
            },
          }),
        },
      }),
    })
  })
  afterAll(async () => {
    await management?.stop()
    await file?.close()
  })

  it('stop in the store, and free their slots', async () => {
    const { account } = await management.register()
    const projectId = account.projects[0]?.id ?? ''
    const headers = { 'X-API-Key': await management.key(projectId), 'Content-Type': 'application/json' }
    const post = (kind: string, body: Json, init: RequestInit = {}) =>
      fetch(`${management.url}/api/projects/${projectId}/analytics/${kind}`, {
        method: 'POST',
        headers,
        body: JSON.stringify(body),
        ...init,
      })
    const readers = new AbortController()
    const left = many(MAX_QUERIES_PER_PROJECT, null).map(() =>
      expect(post('paths', paths, { signal: readers.signal })).rejects.toThrow('aborted'),
    )
    await expect.poll(() => asked).toBe(MAX_QUERIES_PER_PROJECT)
    expect((await post('trends', trends)).status).toBe(429)
    readers.abort()
    await Promise.all(left)
    const next = async () => (await post('trends', trends)).status
    await expect.poll(next).toBe(200)
  })
})

describe.skipIf(!services)('queries while the event store is unavailable', () => {
  let management: Management
  let store: EventStore
  beforeAll(async () => {
    store = openClickHouseStore({
      url: `http://localhost:${CLOSED_PORT}`,
      database: 'waymark',
      queryTimeoutMs: 10_000,
      queryMemoryBytes: 512 * 1024 * 1024,
    })
    management = await startManagement({ adapt: (platform) => ({ ...platform, eventStore: store }) })
  })
  afterAll(async () => {
    await management?.stop()
    await store?.close()
  })

  it.each([
    ['GET', 'stats?metric=events', undefined],
    ['POST', 'analytics/trends', trends],
    ['GET', 'analytics/properties', undefined],
  ])('%s %s answers 503 and when to repeat it', async (method, path, body) => {
    const { account } = await management.register()
    const projectId = account.projects[0]?.id ?? ''
    const reply = await fetch(`${management.url}/api/projects/${projectId}/${path}`, {
      method,
      headers: { 'X-API-Key': await management.key(projectId), 'Content-Type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    })
    expect([reply.status, reply.headers.get('Retry-After')]).toEqual([503, '30'])
    expect(await reply.json()).toEqual({ error: 'STORE_UNAVAILABLE', retryAfterSeconds: 30 })
  })
})
