import { randomUUID } from 'node:crypto'
import { type Constellation, eventually } from '@waymark/testing'
import { afterAll, beforeAll, expect, it } from 'vitest'

type StoredEvent = { eventId: string; [field: string]: unknown }
type Page = { data: StoredEvent[]; nextCursor: string | null }

const CHROME =
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/120.0.0.0 Safari/537.36'
const GOOGLEBOT = 'Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)'

/** The core behaviour of Waymark, for the deployment that `start` begins. */
export const describeMainJob = (start: () => Promise<Constellation>): void => {
  let waymark: Constellation

  beforeAll(async () => {
    waymark = await start()
  })
  afterAll(() => waymark?.stop())

  const post = (
    body: unknown,
    { query = '', headers = {} }: { query?: string; headers?: Record<string, string> } = {},
  ) =>
    waymark.request(`/api/v1/t${query}`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', ...headers },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    })

  const list = async (query: string): Promise<Page> => {
    const response = await waymark.request(`/api/projects/${waymark.projectId}/events?${query}`)
    expect(response.status).toBe(200)
    return (await response.json()) as Page
  }

  const stored = (eventId: string): Promise<StoredEvent> =>
    eventually(
      `${eventId} is stored`,
      async () => (await list(`eventId=${encodeURIComponent(eventId)}`)).data[0],
    )

  it('is ready and healthy', async () => {
    expect(await (await waymark.request('/healthz')).json()).toEqual({ status: 'ok' })
    expect((await waymark.request('/readyz')).status).toBe(200)
  })

  it('stores an enriched event from the gateway', async () => {
    const eventId = randomUUID()
    const response = await post({
      eventName: 'page_view',
      visitorId: 'visitor-1',
      userId: 'user-1',
      sessionId: 'session-1',
      eventId,
      clientTimestamp: '2015-05-17T10:05:03.000Z',
      shortLinkCode: 'abc1234',
      clickIds: { gclid: 'from-body' },
      properties: {
        url: 'https://shop.example/shoes?utm_source=news&utm_campaign=may&fbclid=fb-1',
        referrer: 'https://www.google.com/search?q=shoes',
        userAgent: CHROME,
        ip: '203.0.113.77',
        price: 1999,
      },
    })
    expect(response.status).toBe(202)
    expect(await response.json()).toEqual({ accepted: 1, failed: 0, queued: 1, processed: false })

    const event = await stored(eventId)
    expect(event).toMatchObject({
      eventId,
      eventName: 'page_view',
      visitorId: 'visitor-1',
      userId: 'user-1',
      sessionId: 'session-1',
      clientTimestamp: '2015-05-17T10:05:03.000Z',
      timestamp: '2015-05-17T10:05:03.000Z',
      shortLinkId: null,
      shortLinkCode: 'abc1234',
      clickIds: { gclid: 'from-body' },
      warnings: [],
      context: {
        bot: false,
        browser: 'Chrome',
        os: 'Windows',
        device: 'desktop',
        country: 'SE',
        city: 'Linköping',
        ip: '203.0.113.0',
        path: '/shoes',
        referrer: 'https://www.google.com/search?q=shoes',
        utm: { source: 'news', medium: null, campaign: 'may', term: null, content: null },
        clickIds: { gclid: 'from-body', fbclid: 'fb-1' },
      },
    })
    expect(event.properties).toMatchObject({ price: 1999, ip: '203.0.113.0' })
    expect(JSON.stringify(event)).not.toContain('203.0.113.77')
  })

  it('accepts a batch, reports invalid events, and stores the others', async () => {
    const [good, bot] = [randomUUID(), randomUUID()]
    const response = await post({
      events: [
        { eventName: 'page_view', visitorId: 'v', eventId: good },
        { eventName: '' },
        { eventName: 'page_view', visitorId: 'v', eventId: bot, properties: { userAgent: GOOGLEBOT } },
        'nonsense',
      ],
    })
    expect(response.status).toBe(202)
    const result = (await response.json()) as { invalid: object[] }
    expect(result).toMatchObject({ accepted: 2, failed: 2, queued: 2, processed: false })
    expect(result.invalid).toEqual([
      { index: 1, rawSample: '{"eventName":""}', reason: expect.stringContaining('eventName') },
      { index: 3, rawSample: '"nonsense"', reason: expect.any(String) },
    ])
    expect((await stored(good)).context).toMatchObject({ bot: false })
    expect((await stored(bot)).context).toMatchObject({ bot: true })
  })

  it.each([
    ['the query', { query: '?sync=1' }],
    ['the header', { headers: { 'X-Service-Sync': '1' } }],
  ])('answers 200 by %s once the events can be read', async (_how, selector) => {
    const eventId = randomUUID()
    const response = await post({ events: [{ eventName: 'signed_up', visitorId: 'v', eventId }] }, selector)
    expect(response.status).toBe(200)
    // The project has no event definitions yet, so that no name is unknown.
    expect(await response.json()).toEqual({ accepted: 1, failed: 0, queued: 0, processed: true })
    expect((await list(`eventId=${eventId}`)).data).toHaveLength(1)
  })

  it('reports structural problems and envelope warnings on the synchronous path', async () => {
    const response = await post({ events: [{ eventName: 'a' }, { eventName: 7 }] }, { query: '?sync=1' })
    expect(response.status).toBe(200)
    expect(await response.json()).toMatchObject({
      accepted: 1,
      failed: 1,
      errors: [
        {
          index: 0,
          eventName: 'a',
          errors: [{ field: 'visitorId', rule: 'missing_visitor_id' }],
        },
        { index: 1, errors: [{ field: 'eventName', rule: 'structure' }] },
      ],
    })
  })

  it('stores an event once on any path, and generates ids for events without one', async () => {
    const eventId = `order-${randomUUID()}`
    const name = `name-${randomUUID()}`
    const event = { eventName: name, visitorId: 'v', eventId }
    await post({ events: [event, event] }, { query: '?sync=1' })
    await Promise.all([post(event), post(event), post(event, { query: '?sync=1' })])
    await post({
      events: [
        { eventName: name, visitorId: 'v' },
        { eventName: name, visitorId: 'v' },
      ],
    })
    const page = await eventually('the two without an id arrive', async () => {
      const found = await list(`eventName=${name}`)
      return found.data.length >= 3 && found
    })
    expect(page.data).toHaveLength(3)
    expect(page.data.filter((found) => found.eventId === eventId)).toHaveLength(1)
  })

  it('pages through events without gaps or repeats', async () => {
    const visitorId = `pager-${randomUUID()}`
    const events = Array.from({ length: 25 }, () => ({
      eventName: 'page_view',
      visitorId,
      eventId: randomUUID(),
    }))
    await post({ events }, { query: '?sync=1' })
    const seen: string[] = []
    for (let cursor: string | null = ''; cursor !== null; ) {
      const page: Page = await list(`visitorId=${visitorId}&limit=10${cursor && `&cursor=${cursor}`}`)
      seen.push(...page.data.map(({ eventId }) => eventId))
      cursor = page.nextCursor
    }
    expect(seen).toHaveLength(25)
    expect(new Set(seen)).toEqual(new Set(events.map(({ eventId }) => eventId)))
  })

  it.each([
    ['no key', ''],
    ['a malformed key', 'not-a-key'],
    ['a mistyped key', 'wm_sec_0000000000aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa000000'],
  ])('refuses %s with 401 before reading the body', async (_what, key) => {
    const response = await post('{', { headers: { 'X-API-Key': key } })
    expect(response.status).toBe(401)
    expect(await response.json()).toEqual({
      error: 'Missing or invalid API key: send it as X-API-Key or as Authorization: Bearer',
    })
    expect(response.headers.get('X-Request-Id')).toBeTruthy()
  })

  it.each([
    ['what is not JSON', '{"eventName":'],
    ['an empty body', ''],
    ['an array', '[]'],
    ['neither name nor events', '{"visitorId":"v"}'],
    ['events that are no array', '{"events":{}}'],
    ['no events', '{"events":[]}'],
    ['a nameless event', '{"eventName":null}'],
    ['only invalid events', '{"events":[{"eventName":1},{}]}'],
  ])('refuses %s with 400', async (_what, body) => {
    const response = await post(body)
    expect(response.status).toBe(400)
    expect(await response.json()).toMatchObject({ error: expect.any(String) })
  })

  it('accepts 100 events and refuses 101', async () => {
    const events = (count: number) => ({
      events: Array.from({ length: count }, () => ({ eventName: 'many', visitorId: 'v' })),
    })
    expect((await post(events(100))).status).toBe(202)
    expect((await post(events(101))).status).toBe(400)
  })

  it('shows only the key’s project', async () => {
    const foreign = await waymark.request(`/api/projects/${randomUUID()}/events`)
    expect(foreign.status).toBe(404)
    expect(await foreign.json()).toEqual({ error: 'Not found' })
    const nowhere = await waymark.request('/api/projects/nonsense')
    expect(await nowhere.json()).toEqual({ error: 'Not found' })
  })
}
