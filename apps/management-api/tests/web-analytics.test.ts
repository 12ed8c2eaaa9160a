import { MAX_FILTERS } from '@waymark/contracts/http/analytics-parts'
import type { WebView } from '@waymark/contracts/http/web-analytics'
import { MAX_WEB_ROWS } from '@waymark/contracts/http/web-analytics'
import type { EnrichedEvent } from '@waymark/contracts/records/enriched-event'
import { anEnrichedEvent, services } from '@waymark/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startWorld, type World } from './world.ts'

const FROM = Date.parse('2025-01-01T00:00:00Z')
const MINUTE_MS = 60_000
const DAY_MS = 24 * 60 * MINUTE_MS
const SELECTOR = '01900000-0000-7000-8000-000000000201'
const daysOn = (days: number): string => new Date(FROM + days * DAY_MS).toISOString()
const range = { from: daysOn(0), to: daysOn(3) }
const filter = { property: 'visit.country', op: 'eq', value: 'DE' }
const nothing = { visitors: 0, visits: 0, views: 0, bounceRate: 0, visitSeconds: 0 }

describe.skipIf(!services)('web analytics over HTTP', () => {
  let world: World
  const ask = async (
    body: object,
  ): Promise<{ status: number; body: WebView & { errors: { field: string }[] } }> =>
    (await world.manage('POST', 'analytics/web', body)) as never

  beforeAll(async () => {
    world = await startWorld()
    let count = 0
    const event = (visitorId: string, at: number, context: object, more: Partial<EnrichedEvent> = {}) => {
      const made = anEnrichedEvent({
        projectId: world.projectId,
        event: { eventId: `web-${count++}`, visitorId },
      })
      return {
        ...made,
        eventName: 'page_view',
        timestamp: new Date(FROM + at).toISOString(),
        profileId: null,
        context: { ...made.context, bot: false, ...context },
        ...more,
      }
    }
    const conversions = [{ selectorId: SELECTOR, amount: 4_990, currency: 'EUR', quantity: null }]
    await world.platform.eventStore.storeEvents([
      // A visit from a search engine: two pages in 90 s, and an order.
      event('a', DAY_MS, { path: '/', country: 'DE', referrerHost: 'www.google.de' }),
      event('a', DAY_MS + MINUTE_MS, { path: '/shoes', country: 'DE' }),
      event('a', DAY_MS + 1.5 * MINUTE_MS, { path: '/shoes' }, { eventName: 'order', conversions }),
      // The same visitor on the next day, by a newsletter: a bounce.
      event('a', 2 * DAY_MS, {
        path: '/sale',
        country: 'DE',
        utm: { ...utm, source: 'news', medium: 'email' },
      }),
      // Somebody else.
      event('b', DAY_MS, { path: '/', country: 'FR' }),
      // In the range before.
      event('c', -DAY_MS, { path: '/', country: 'FR' }),
      // Not a visit: an event without a page view, and a bot.
      event('d', DAY_MS, { path: '/' }, { eventName: 'order' }),
      event('e', DAY_MS, { path: '/', bot: true }),
    ])
  })
  afterAll(() => world?.stop())
  const utm = { source: null, medium: null, campaign: null, term: null, content: null }

  it('answers visits, sources, pages and goals, compared with the range before', async () => {
    const { status, body } = await ask({ ...range, compareTo: 'previous_period' })
    expect(status).toBe(200)
    expect(body.buckets).toEqual([daysOn(0), daysOn(1), daysOn(2)])
    expect(body.totals).toEqual({ visitors: 2, visits: 3, views: 4, bounceRate: 2 / 3, visitSeconds: 30 })
    expect(body.series).toEqual([
      nothing,
      { visitors: 2, visits: 2, views: 3, bounceRate: 0.5, visitSeconds: 45 },
      { visitors: 1, visits: 1, views: 1, bounceRate: 1, visitSeconds: 0 },
    ])
    expect(body.previousTotals).toEqual({ ...nothing, visitors: 1, visits: 1, views: 1, bounceRate: 1 })
    expect(body.previousSeries?.map(({ visits }) => visits)).toEqual([0, 0, 1])
    expect(
      body.channels.map(({ value, visits, conversionRate, revenue }) => [
        value,
        visits,
        conversionRate,
        revenue,
      ]),
    ).toEqual([
      ['direct', 1, 0, []],
      ['email', 1, 0, []],
      ['organic_search', 1, 1, [{ currency: 'EUR', amount: 4_990 }]],
    ])
    expect(body.sources.map(({ value }) => value)).toEqual([null, 'google.de', 'news'])
    expect(body.pages).toEqual([
      { value: '/', visitors: 2, views: 2 },
      { value: '/sale', visitors: 1, views: 1 },
      { value: '/shoes', visitors: 1, views: 1 },
    ])
    expect(body.exitPages.map(({ value, visits }) => [value, visits])).toEqual([
      ['/', 1],
      ['/sale', 1],
      ['/shoes', 1],
    ])
    expect(body.countries.map(({ value, visits }) => [value, visits])).toEqual([
      ['DE', 2],
      ['FR', 1],
    ])
    expect(body.goals).toEqual([
      {
        selectorId: SELECTOR,
        conversions: 1,
        visits: 1,
        conversionRate: 1 / 3,
        revenue: [{ currency: 'EUR', amount: 4_990 }],
      },
    ])
  })

  it.each([
    [[filter], 2],
    [[{ ...filter, op: 'neq' }], 1],
    [[filter, { property: 'visit.channel', op: 'eq', value: 'email' }], 1],
    [[{ property: 'visit.source', op: 'not_exists' }], 1],
    [[{ property: 'context.path', op: 'eq', value: '/shoes' }], 1],
    [[{ property: 'eventName', op: 'eq', value: 'order' }], 1],
    [[{ property: 'visit.entryPage', op: 'eq', value: '/shoes' }], 0],
  ])('selects visits by %j', async (filters, visits) => {
    const { body } = await ask({ ...range, filters })
    expect(body.totals.visits).toBe(visits)
    expect(body.pages.reduce((sum, { views }) => sum + views, 0)).toBe(body.totals.views)
  })

  it('has buckets of an hour for up to two days', async () => {
    expect((await ask({ from: daysOn(0), to: daysOn(2) })).body.buckets).toHaveLength(48)
    expect((await ask({ from: daysOn(0), to: daysOn(3) })).body.buckets).toHaveLength(3)
    expect((await ask({ ...range, interval: 'hour', timeZone: 'Asia/Kathmandu' })).body.buckets).toHaveLength(
      73,
    )
  })

  it.each<[object, object, string]>([
    [{ limit: MAX_WEB_ROWS }, { limit: MAX_WEB_ROWS + 1 }, 'limit'],
    [{ limit: 1 }, { limit: 0 }, 'limit'],
    [
      { filters: Array(MAX_FILTERS).fill(filter) },
      { filters: Array(MAX_FILTERS + 1).fill(filter) },
      'filters',
    ],
    [
      { filters: [filter] },
      { filters: [filter, { ...filter, property: 'visit.page' }] },
      'filters.1.property',
    ],
    [{ filters: [filter] }, { filters: [{ ...filter, op: 'contains', value: 1 }] }, 'filters.0.value'],
    [{ timeZone: 'Europe/Berlin' }, { timeZone: 'Europe/Nowhere' }, 'timeZone'],
    [{}, { to: range.from }, 'from'],
    [{}, { unknown: 1 }, 'unknown'],
  ])('takes %j and refuses %j', async (good, bad, field) => {
    expect((await ask({ ...range, ...good })).status).toBe(200)
    const { status, body } = await ask({ ...range, ...bad })
    expect([status, body.errors[0]?.field]).toEqual([422, field])
  })
})
