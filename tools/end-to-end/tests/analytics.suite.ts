import { randomUUID } from 'node:crypto'
import { type Constellation, createClient, eventually, type Json } from '@waymark/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

// Three days in Berlin. The second one has 23 hours.
const range = { from: '2025-03-28T23:00:00Z', to: '2025-03-31T22:00:00Z' }
const days = { ...range, interval: 'day', timeZone: 'Europe/Berlin' }

/** Queries on events sent over HTTP, for the deployment that `start` begins. */
export const describeAnalytics = (start: () => Promise<Constellation>): void => {
  let waymark: Constellation
  const { call, manage, meter } = createClient(() => waymark)
  const run = randomUUID()
  const [view, cart, order] = [`view-${run}`, `cart-${run}`, `order-${run}`]
  const user = `user-${run}`
  const visitor = (name: string) => `${name}-${run}`

  const track = async (name: string, eventName: string, clientTimestamp: string, properties: Json = {}) => {
    const event = { eventName, visitorId: visitor(name), eventId: randomUUID(), clientTimestamp, properties }
    const { status } = await call('POST', '/api/v1/t?sync=1', event)
    expect([200, 202]).toContain(status)
  }
  const ask = async (kind: string, body: Json): Promise<Json> => {
    const reply = await manage('POST', `analytics/${kind}`, body)
    expect(reply.status, JSON.stringify(reply.body)).toBe(200)
    return reply.body
  }
  const trend = async (series: Json, more: Json = {}) =>
    (await ask('trends', { ...days, ...more, series: [series] })).series as Json[]
  /** The expected result once everything is stored. */
  const soon = (what: string, check: () => Promise<void>) =>
    eventually(what, async () => {
      await check()
      return true
    })

  beforeAll(async () => {
    waymark = await start()
    await meter({ eventName: order, amountProperty: 'total', currencyProperty: 'currency' })
    for (const name of ['a', 'b'])
      expect(
        (await call('POST', '/api/v1/identify?sync=1', { visitorId: visitor(name), userId: user })).status,
      ).toBe(200)
    await track('a', view, '2025-03-29T22:30:00Z', { color: 'red', price: 10 })
    await track('a', view, '2025-03-29T23:30:00Z', { color: 'red', price: 2.5 })
    await track('b', view, '2025-03-30T10:00:00Z', { color: 'red', price: '10' })
    await track('c', view, '2025-03-29T12:00:00Z', { color: 'blue', price: 4 })
    await track('d', view, '2025-03-31T08:00:00Z', { color: 'green', price: 100 })
    await track('a', cart, '2025-03-30T21:30:00Z')
    await track('c', cart, '2025-03-29T12:10:00Z')
    await track('a', order, '2025-03-30T22:30:00Z', { total: 4900, currency: 'EUR' })
    await track('c', order, '2025-03-29T12:20:00Z', { total: 1000, currency: 'USD' })
    await soon('all events are counted', async () => {
      expect(await trend({ eventName: view, metric: 'events' })).toMatchObject([{ total: 5 }])
      expect(await trend({ eventName: cart, metric: 'events' })).toMatchObject([{ total: 2 }])
      expect(await trend({ eventName: order, metric: 'conversions' })).toMatchObject([{ total: 2 }])
    })
  })
  afterAll(() => waymark?.stop())

  it('counts events and people by local day, and people once in the whole range', async () => {
    const { buckets, series } = await ask('trends', {
      ...days,
      series: [
        { eventName: view, metric: 'events' },
        { eventName: view, metric: 'people' },
      ],
    })
    expect(buckets).toEqual([
      '2025-03-28T23:00:00.000Z',
      '2025-03-29T23:00:00.000Z',
      '2025-03-30T22:00:00.000Z',
    ])
    expect(series).toMatchObject([
      { series: 0, total: 5, values: [2, 2, 1] },
      { series: 1, total: 3, values: [2, 1, 1] },
    ])
  })

  it('computes numbers, groups and filters', async () => {
    expect(await trend({ eventName: view, metric: 'sum', property: 'properties.price' })).toMatchObject([
      { total: 116.5, values: [14, 2.5, 100] },
    ])
    expect(await trend({ eventName: view, metric: 'p50', property: 'properties.price' })).toMatchObject([
      { total: 7, values: [7, 2.5, 100] },
    ])
    const groups = await trend(
      { eventName: view, metric: 'events' },
      { breakdown: 'properties.color', limit: 1 },
    )
    expect(groups).toMatchObject([
      { group: 'red', other: false, total: 3, values: [1, 2, 0] },
      { group: null, other: true, total: 2, values: [1, 0, 1] },
    ])
    const filters = [{ property: 'properties.price', op: 'gte', value: 4 }]
    expect(await trend({ eventName: view, metric: 'events', filters })).toMatchObject([
      { total: 3, values: [2, 0, 1] },
    ])
  })

  it('separates revenue by currency', async () => {
    expect(await trend({ eventName: order, metric: 'revenue' })).toMatchObject([
      { currency: 'EUR', total: 4900, values: [0, 0, 4900] },
      { currency: 'USD', total: 1000, values: [1000, 0, 0] },
    ])
  })

  it('compares with the previous period', async () => {
    const answer = await ask('trends', {
      ...days,
      from: '2025-03-29T23:00:00Z',
      compareTo: 'previous_period',
      series: [{ eventName: view, metric: 'events' }],
    })
    expect(answer).toMatchObject({
      previousBuckets: ['2025-03-27T23:00:00.000Z', '2025-03-28T23:00:00.000Z'],
      series: [{ total: 3, values: [2, 1], previousTotal: 2, previousValues: [0, 2] }],
    })
  })

  it('compares whole days where the clock changes at midnight', async () => {
    const night = `night-${run}`
    // In Beirut 29 March begins at 22:00 UTC, and the 30th at 01:00 local time, which is 22:00 UTC too.
    for (const at of [
      '28T21:59:59',
      '28T22:30:00',
      '29T21:59:59',
      '29T22:00:00',
      '30T20:59:59',
      '30T21:00:00',
    ])
      await track('night', night, `2025-03-${at}Z`)
    await soon('all are counted, the day with the one before', async () => {
      const answer = await ask('trends', {
        from: '2025-03-29T22:00:00Z',
        to: '2025-03-30T21:00:00Z',
        interval: 'day',
        timeZone: 'Asia/Beirut',
        compareTo: 'previous_period',
        series: [{ eventName: night, metric: 'events' }],
      })
      expect(answer).toMatchObject({
        previousBuckets: ['2025-03-28T22:00:00.000Z'],
        series: [{ total: 2, values: [2], previousTotal: 2, previousValues: [2] }],
      })
    })
  })

  it('computes a funnel', async () => {
    const steps = [view, cart, order].map((eventName) => ({ eventName }))
    expect(await ask('funnel', { ...range, steps, windowSeconds: 2 * 86_400 })).toEqual({
      steps: [
        {
          eventName: view,
          people: 3,
          rateFromFirst: 1,
          rateFromPrevious: 1,
          medianSecondsFromPrevious: null,
        },
        {
          eventName: cart,
          people: 2,
          rateFromFirst: 2 / 3,
          rateFromPrevious: 2 / 3,
          medianSecondsFromPrevious: 41_700,
        },
        {
          eventName: order,
          people: 2,
          rateFromFirst: 2 / 3,
          rateFromPrevious: 1,
          medianSecondsFromPrevious: 2_100,
        },
      ],
    })
  })

  it('computes retention and paths', async () => {
    const back = await ask('retention', { ...days, startEvent: view, returnEvent: view, periods: 2 })
    expect(back).toEqual({
      cohorts: [
        { at: '2025-03-28T23:00:00.000Z', size: 2, returned: [2, 1, 0] },
        { at: '2025-03-29T23:00:00.000Z', size: 0, returned: [0, 0, 0] },
        { at: '2025-03-30T22:00:00.000Z', size: 1, returned: [1, 0, 0] },
      ],
    })
    const ways = await ask('paths', { ...range, startEvent: view, depth: 3, limit: 10 })
    expect(ways.links).toEqual([
      { source: `0:${view}`, target: `1:${cart}`, people: 2 },
      { source: `1:${cart}`, target: `2:${order}`, people: 2 },
    ])
  })

  it('applies later traits and merges, and removes them with the person', async () => {
    const visit = `visit-${run}`
    for (const name of ['x', 'y', 'z']) await track(name, visit, '2025-03-29T10:00:00Z')
    await soon('all are counted', async () => {
      expect(await trend({ eventName: visit, metric: 'people' })).toMatchObject([{ total: 3 }])
    })
    const identify = async (name: string, userId: string, plan: string) => {
      const body = { visitorId: visitor(name), userId, traits: { plan } }
      expect((await call('POST', '/api/v1/identify', body)).status).toBe(202)
    }
    await identify('x', `merged-${run}`, 'free')
    await identify('z', `single-${run}`, 'free')
    await soon('traits group events', async () => {
      expect(await trend({ eventName: visit, metric: 'events' }, { breakdown: 'traits.plan' })).toMatchObject(
        [
          { group: 'free', total: 2 },
          { group: null, total: 1 },
        ],
      )
    })
    await identify('y', `merged-${run}`, 'pro')
    await soon('two visitors of one user are one person with the newest traits', async () => {
      expect(await trend({ eventName: visit, metric: 'people' })).toMatchObject([{ total: 2 }])
      expect(await trend({ eventName: visit, metric: 'events' }, { breakdown: 'traits.plan' })).toMatchObject(
        [
          { group: 'pro', total: 2 },
          { group: 'free', total: 1 },
        ],
      )
    })
    const filters = [{ property: 'traits.plan', op: 'eq', value: 'pro' }]
    expect(await trend({ eventName: visit, metric: 'people', filters })).toMatchObject([{ total: 1 }])

    const { body } = await manage('GET', `profiles?userId=merged-${run}`)
    const [profile] = body.data as { id: string }[]
    expect((await manage('DELETE', `profiles/${profile?.id}`)).status).toBeLessThan(300)
    await soon('both visitors of the person are erased', async () => {
      expect(await trend({ eventName: visit, metric: 'events' })).toMatchObject([{ total: 1 }])
    })
    const query = new URLSearchParams({ property: 'traits.plan', eventName: visit, ...range })
    expect((await manage('GET', `analytics/property-values?${query}`)).body).toEqual({
      data: [{ value: 'free', events: 1 }],
    })
  })

  describe('once a person was erased', () => {
    it('no longer counts their events', async () => {
      const { body } = await manage('GET', `profiles?visitorId=${visitor('d')}`)
      const [profile] = body.data as { id: string }[]
      expect((await manage('DELETE', `profiles/${profile?.id}`)).status).toBeLessThan(300)
      await soon('the erasure is carried out', async () => {
        expect(await trend({ eventName: view, metric: 'people' })).toMatchObject([
          { total: 2, values: [2, 1, 0] },
        ])
      })
      expect(await trend({ eventName: view, metric: 'events' })).toMatchObject([
        { total: 4, values: [2, 2, 0] },
      ])
    })
  })
}
