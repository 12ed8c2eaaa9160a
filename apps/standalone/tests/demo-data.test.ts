import type { WebView } from '@waymark/contracts/http/web-analytics'
import { type Constellation, createClient, eventually, startStandalone } from '@waymark/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

/** The lists that the demo data fills, with their minimum lengths. */
const LISTS = {
  'event-definitions': 5,
  'metering-selectors': 2,
  'rejected-events': 2,
  'coupon-pools': 3,
  'email-triggers': 1,
  'gift-cards/movements': 6,
  'loyalty-programmes': 1,
  conversions: 20,
  coupons: 20,
  dashboards: 1,
  decisions: 1,
  events: 50,
  insights: 4,
  links: 2,
  redemptions: 6,
  suppressions: 1,
} as const

describe('the demo data of a first start', () => {
  let waymark: Constellation
  const { call, manage } = createClient(() => waymark)
  const listed = async (list: string) => (await manage('GET', `${list}?limit=50`)).body.data as object[]
  const eventsBy = async (groupBy: string, metric = 'events') => {
    const { series } = (await manage('GET', `stats?metric=${metric}&groupBy=${groupBy}`)).body as {
      series: { group: string | null; total: number; values: number[] }[]
    }
    return series
  }
  /** Whether no record waits to be published or processed. */
  const isDrained = async () => {
    const { consumerGroups, outbox } = (await manage('GET', 'stats/pipeline')).body as {
      consumerGroups: { lag: number }[] | null
      outbox: { records: number }
    }
    return outbox.records === 0 && consumerGroups?.every(({ lag }) => lag === 0) === true
  }
  const total = async () => (await eventsBy('name')).reduce((sum, one) => sum + one.total, 0)

  beforeAll(async () => {
    waymark = await startStandalone({ WAYMARK_DEMO_DATA: 'on' })
    await eventually('three orders were thanked for', async () => {
      const deliveries = (await listed('email-deliveries')) as { status: string }[]
      return deliveries.filter(({ status }) => status === 'sent').length === 3
    })
    let last = 0
    await eventually('all events are stored', async () => {
      const before = last
      last = await total()
      return last > 300 && last === before && (await isDrained())
    })
  })
  afterAll(() => waymark?.stop())

  it('fills every page', async () => {
    for (const [list, least] of Object.entries(LISTS))
      expect((await listed(list)).length, list).toBeGreaterThanOrEqual(least)
    expect((await listed('loyalty-programmes/demo-club/movements')).length).toBeGreaterThanOrEqual(9)
    expect(await listed('dead-letters')).toEqual([])
  })

  it('spreads events over two weeks, from campaigns, with people of several devices', async () => {
    const [first] = await eventsBy('name')
    expect(first?.values.filter((value) => value > 0).length).toBeGreaterThanOrEqual(12)
    expect((await eventsBy('campaign')).map(({ group }) => group)).toContain('autumn-sale')
    const revenue = await eventsBy('campaign', 'revenue')
    for (const campaign of ['autumn-sale', 'running-shoes'])
      expect(revenue.find(({ group }) => group === campaign)?.total, campaign).toBeGreaterThan(0)
    const links = (await listed('links')) as { clicks: number }[]
    for (const { clicks } of links) expect(clicks).toBeGreaterThan(20)
    const [person] = (await manage('GET', 'profiles?userId=demo-user-001')).body.data as {
      visitorIds: string[]
      traits: object
    }[]
    expect(person?.visitorIds).toEqual(['demo-visitor-001', 'demo-visitor-001-phone'])
    expect(person?.traits).toMatchObject({ name: 'Mia Fischer', email: 'mia.fischer@shop.example' })
    const { variants } = (await manage('GET', 'decisions/demo-sale-banner/stats')).body as {
      variants: { people: number; converted: number }[]
    }
    for (const { people, converted } of variants) {
      expect(people).toBeGreaterThan(10)
      expect(converted).toBeGreaterThan(0)
    }
    const { metrics } = (await manage('GET', 'decisions/demo-sale-banner/results')).body as {
      metrics: { currency: string | null; variants: { value: number }[] }[]
    }
    expect(metrics).toMatchObject([
      { key: 'Ordered', currency: null },
      { key: 'Revenue', currency: 'EUR' },
    ])
    // More than 1 EUR a person.
    for (const { value } of metrics[1]?.variants ?? []) expect(value).toBeGreaterThan(100)
  })

  it('has visits from many channels to many pages, of which some are bounces', async () => {
    const now = Date.now()
    const range = { from: new Date(now - 15 * 86_400_000).toISOString(), to: new Date(now).toISOString() }
    const { totals, channels, entryPages, exitPages } = (await manage('POST', 'analytics/web', range))
      .body as WebView
    expect(totals.visits).toBeGreaterThan(100)
    expect(totals.bounceRate).toBeGreaterThan(0.15)
    expect(totals.bounceRate).toBeLessThan(0.6)
    expect(totals.visitSeconds).toBeGreaterThan(60)
    const known = ['direct', 'email', 'organic_search', 'paid_search', 'referral', 'social']
    expect(channels.map(({ value }) => value).toSorted()).toEqual(known)
    expect(entryPages.length).toBeGreaterThanOrEqual(5)
    expect(exitPages.length).toBeGreaterThanOrEqual(5)
  })

  it('is added once, and removed with one call that keeps other data', async () => {
    const before = await total()
    await waymark.kill('standalone')
    await waymark.restart('standalone')
    expect(await total()).toBe(before)

    const own = {
      eventName: 'order_placed',
      visitorId: 'mine',
      eventId: 'mine-1',
      properties: { total: 100 },
    }
    expect((await call('POST', '/api/v1/t?sync=1', own)).status).toBe(200)
    const link = { destination: 'https://shop.example/mine', code: 'mine' }
    expect((await manage('POST', 'links', link)).status).toBe(201)

    expect((await manage('GET', 'demo-data')).body).toMatchObject({ present: true })
    expect((await manage('DELETE', 'demo-data')).status).toBe(204)
    expect((await manage('GET', 'demo-data')).body).toMatchObject({ present: false })
    for (const list of Object.keys(LISTS).filter((name) => name !== 'events' && name !== 'links'))
      expect(await listed(list), list).toEqual([])
    expect(await listed('events')).toMatchObject([{ eventId: 'mine-1' }])
    expect(await listed('links')).toMatchObject([{ code: 'mine' }])
    expect(await listed('email-deliveries')).toEqual([])
    expect(await total()).toBe(1)
    expect((await waymark.request('/s/demo-newsletter', { redirect: 'manual' })).status).not.toBe(302)
    expect(await listed('audit-log')).toEqual(
      expect.arrayContaining([expect.objectContaining({ operation: 'removeDemoData' })]),
    )

    await waymark.kill('standalone')
    await waymark.restart('standalone')
    expect((await manage('GET', 'demo-data')).body).toMatchObject({ present: false })
    expect(await total()).toBe(1)
    // Nothing is left to do.
    expect((await manage('DELETE', 'demo-data')).status).toBe(204)
  })
})
