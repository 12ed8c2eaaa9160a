import { randomUUID } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import { type Constellation, createClient, eventually, type Json } from '@waymark/testing'
import { afterAll, beforeAll, expect, it } from 'vitest'

const MAX_BODY_BYTES = 500 * 1024
const MAX_MESSAGE_BYTES = 32 * 1024

/** Segment's protocol, with bodies as its SDKs send them. */
export const describeSegment = (start: () => Promise<Constellation>): void => {
  let waymark: Constellation
  beforeAll(async () => {
    waymark = await start()
  })
  afterAll(() => waymark?.stop())
  const { manage, meter } = createClient(() => waymark)

  const basic = (key: string) => `Basic ${btoa(`${key}:`)}`
  /** Sends a body as text, without the header of the other endpoints. */
  const send = (path: string, body: unknown, headers: Record<string, string> = {}): Promise<Response> =>
    waymark.request(path, {
      method: 'POST',
      headers: { 'X-API-Key': '', Authorization: basic(waymark.apiKey), ...headers },
      body: typeof body === 'string' || body instanceof Uint8Array ? (body as string) : JSON.stringify(body),
    })
  const accepted = async (path: string, body: unknown, headers?: Record<string, string>): Promise<void> => {
    const response = await send(path, body, headers)
    expect([response.status, await response.json()]).toEqual([200, { success: true }])
  }
  const createKey = async (body: Json = {}): Promise<string> => {
    const created = await manage('POST', 'api-keys', {
      name: 'segment',
      kind: 'pub',
      scopes: ['events:write'],
      ...body,
    })
    expect(created.status).toBe(201)
    return `${created.body.key}`
  }
  const find = async (resource: string, query: string): Promise<Json[]> =>
    (await manage('GET', `${resource}?${query}`)).body.data as Json[]
  const stored = (eventId: string): Promise<Json> =>
    eventually('the event is stored', async () => (await find('events', `eventId=${eventId}`))[0])
  const refused = (eventId: string): Promise<Json> =>
    eventually('the message is quarantined', async () =>
      (await find('rejected-events', 'limit=100')).find((event) => event.eventId === eventId),
    )
  const profileOf = async (kind: 'userId' | 'visitorId', value: string): Promise<Json | undefined> =>
    (await find('profiles', `${kind}=${value}`))[0]
  const message = (more: Json = {}): Json & { messageId: string } => ({
    type: 'track',
    event: 'Order Completed',
    anonymousId: randomUUID(),
    messageId: `test-${randomUUID()}`,
    ...more,
  })

  it('stores what the Node SDK sends, with its times corrected', async () => {
    const sentAt = new Date(Date.now() - 3_600_000)
    const one = message({
      userId: `u-${randomUUID()}`,
      properties: { total: 4900 },
      timestamp: new Date(sentAt.getTime() - 60_000).toISOString(),
      _metadata: { nodeVersion: '24.0.0', jsRuntime: 'node' },
      context: { library: { name: '@segment/analytics-node', version: '3.1.0' }, locale: 'de-DE' },
      integrations: {},
    })
    const body = { batch: [one], writeKey: waymark.apiKey, sentAt: sentAt.toISOString() }
    await accepted('/v1/batch', body, { 'Content-Type': 'application/json' })
    const event = await stored(one.messageId)
    expect(event).toMatchObject({
      eventName: 'Order Completed',
      visitorId: one.anonymousId,
      userId: one.userId,
      properties: { total: 4900, locale: 'de-DE' },
      clientTimestamp: one.timestamp,
      context: { bot: false },
    })
    const agoMs = Date.parse(`${event.receivedAt}`) - Date.parse(`${event.timestamp}`)
    expect(agoMs).toBeGreaterThanOrEqual(60_000)
    expect(agoMs).toBeLessThan(120_000)
  })

  it('stores what the browser SDK sends: text to short paths, the key in the body', async () => {
    const writeKey = await createKey()
    const one = message({
      properties: {},
      context: {
        page: {
          path: '/sale',
          referrer: 'https://search.example/',
          title: 'Sale',
          url: 'https://shop.example/sale?gclid=1',
        },
        userAgent:
          'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36',
        locale: 'en-US',
        campaign: { source: 'news', name: 'spring' },
        library: { name: 'analytics.js', version: 'npm:next-1.84.3' },
        timezone: 'Europe/Berlin',
      },
      sentAt: new Date().toISOString(),
      timestamp: new Date().toISOString(),
      writeKey,
    })
    const headers = { Authorization: '', 'Content-Type': 'text/plain', Origin: 'https://shop.example' }
    const response = await send('/v1/t', one, headers)
    expect(response.status).toBe(200)
    expect(response.headers.get('Access-Control-Allow-Origin')).toBe('https://shop.example')
    expect(await stored(one.messageId)).toMatchObject({
      properties: { url: 'https://shop.example/sale?gclid=1', title: 'Sale', locale: 'en-US' },
      context: {
        browser: 'Chrome',
        path: '/sale',
        referrer: 'https://search.example/',
        utm: { source: 'news', campaign: 'spring' },
        clickIds: { gclid: '1' },
      },
    })
    const { type: _type, ...page } = message({ name: 'Sale', category: 'Shop' })
    await accepted('/v1/p', { ...page, writeKey }, headers)
    expect(await stored(`${page.messageId}`)).toMatchObject({
      eventName: 'page_view',
      properties: { name: 'Sale', category: 'Shop' },
    })
    const batched = message()
    await accepted('/v1/b', { batch: [batched], writeKey, sentAt: new Date().toISOString() }, headers)
    await stored(batched.messageId)
    await accepted('/v1/m', { series: [{ type: 'Counter', metric: 'm', value: 1, tags: {} }] }, headers)
  })

  it('stores what the Node SDK of RudderStack sends: gzip of another content type', async () => {
    const one = message({ originalTimestamp: new Date().toISOString(), context: { sessionId: 17 } })
    await accepted('/v1/batch', gzipSync(JSON.stringify({ batch: [one], sentAt: new Date() })), {
      'Content-Type': 'application/x-www-form-urlencoded',
      'Content-Encoding': 'gzip',
    })
    expect(await stored(one.messageId)).toMatchObject({
      sessionId: '17',
      clientTimestamp: one.originalTimestamp,
    })
  })

  it('answers every path, with and without /v1 and a slash', async () => {
    const ids: string[] = []
    for (const name of ['track', 'page', 'screen', 'group', 'batch', 'import', 'identify', 'alias'])
      for (const path of [`/v1/${name}`, `/${name}`, `/v1/${name}/`]) {
        const one = message({ userId: randomUUID(), groupId: 'acme', previousId: randomUUID() })
        if (!['identify', 'alias'].includes(name)) ids.push(one.messageId)
        const isBatch = ['batch', 'import'].includes(name)
        await accepted(path, isBatch ? { batch: [one] } : { ...one, type: undefined })
      }
    for (const short of ['t', 'p', 's', 'g', 'i', 'a'])
      await accepted(`/v1/${short}`, message({ userId: 'u' }))
    await Promise.all(ids.map(stored))
    expect((await waymark.request('/v1/unknown', { method: 'POST' })).status).toBe(404)
    expect((await waymark.request('/v1/track')).status).toBe(405)
  })

  it('reads the key from Basic, a bearer token, the query or the body, and answers 401 otherwise', async () => {
    const none = { Authorization: '' }
    const { apiKey } = waymark
    await accepted('/v1/track', message(), { Authorization: `Bearer ${apiKey}` })
    await accepted('/v1/track', message(), { 'X-API-Key': apiKey, Authorization: '' })
    const inUrl = await createKey()
    await accepted(`/v1/track?writeKey=${inUrl}`, message(), none)
    await accepted('/v1/track', message({ writeKey: apiKey }), none)
    await accepted('/v1/batch', { batch: [message()], writeKey: apiKey }, none)
    const statusOf = async (body: unknown, headers: Record<string, string>) =>
      (await send('/v1/track', body, headers)).status
    expect(await statusOf(message(), none)).toBe(401)
    expect(await statusOf('{', none)).toBe(401)
    expect(await statusOf(message({ writeKey: `${apiKey}x` }), none)).toBe(401)
    const nested = `${'{"batch":['.repeat(9_000)}${']}'.repeat(9_000)}`
    expect(await statusOf(nested, none)).toBe(401)
    expect(await statusOf(nested, { Authorization: basic(apiKey) })).toBe(200)
    expect(await statusOf(message(), { Authorization: basic('unknown') })).toBe(401)
    const reader = await createKey({ kind: 'sec', scopes: ['links:read'] })
    expect(await statusOf(message(), { Authorization: basic(reader) })).toBe(403)
  })

  it('refuses a page whose origin the key does not allow, and answers the preflights of all', async () => {
    const key = await createKey({ allowedOrigins: ['https://shop.example'] })
    const from = (origin: string) => ({ Authorization: basic(key), Origin: origin })
    await accepted('/v1/t', message(), from('https://shop.example'))
    expect((await send('/v1/t', message(), from('https://elsewhere.example'))).status).toBe(403)
    const preflight = await waymark.request('/v1/t', {
      method: 'OPTIONS',
      headers: {
        Origin: 'https://elsewhere.example',
        'Access-Control-Request-Method': 'POST',
        'Access-Control-Request-Headers': 'authorization,x-retry-count',
      },
    })
    expect(preflight.status).toBe(204)
    expect(preflight.headers.get('Access-Control-Allow-Headers')).toMatch(/AnonymousId.*X-Retry-Count/)
  })

  it('answers the settings of the browser SDK with its own address', async () => {
    const key = await createKey()
    const response = await waymark.request(`/v1/projects/${key}/settings`, {
      headers: { Origin: 'https://shop.example' },
    })
    expect(response.status).toBe(200)
    expect(response.headers.get('Access-Control-Allow-Origin')).toBe('https://shop.example')
    const { integrations } = (await response.json()) as { integrations: Record<string, Json> }
    expect(integrations['Segment.io']).toEqual({
      apiKey: key,
      apiHost: expect.stringMatching(/^localhost:\d+\/v1$/),
      protocol: 'http',
    })
    expect((await waymark.request('/v1/projects/unknown/settings')).status).toBe(401)
  })

  it('stores a message once under any repetition', async () => {
    const one = message({ messageId: 'x'.repeat(150) + randomUUID() + 'y'.repeat(100) })
    const group = message({ type: 'group', groupId: 'acme', userId: randomUUID() })
    for (const path of ['/v1/batch', '/v1/batch', '/batch'])
      await accepted(path, { batch: [one, group, one], sentAt: new Date().toISOString() })
    await stored(group.messageId)
    const ofVisitor = await eventually('the event is stored', async () => {
      const events = await find('events', `visitorId=${one.anonymousId}`)
      return events.length > 0 && events
    })
    expect(ofVisitor).toHaveLength(1)
    expect(await find('events', `visitorId=${group.anonymousId}`)).toHaveLength(1)
  })

  it('identifies before later messages of the batch, and stores no event of it', async () => {
    const [anonymousId, userId] = [randomUUID(), randomUUID()]
    const before = message({ anonymousId })
    await accepted('/v1/track', before)
    const traits = { plan: 'pro', address: { city: 'Bern' } }
    const identify = { type: 'identify', anonymousId, userId, traits, messageId: randomUUID() }
    const after = message({ anonymousId })
    await accepted('/v1/batch', { batch: [identify, after] })
    const profile = await profileOf('userId', userId)
    expect(profile).toMatchObject({ traits })
    expect((await profileOf('visitorId', anonymousId))?.id).toBe(profile?.id)
    expect(await stored(after.messageId)).toMatchObject({ profileId: profile?.id })
    expect(await find('events', `eventId=${identify.messageId}`)).toEqual([])
    const old = { ...identify, timestamp: '2020-01-01T00:00:00Z', traits: { plan: 'free', since: 2020 } }
    await accepted('/v1/batch', { batch: [old], sentAt: new Date().toISOString() })
    expect(await profileOf('userId', userId)).toMatchObject({ traits: { ...traits, since: 2020 } })
  })

  it('stores an event identify if the project enables it, without denied traits', async () => {
    const settings = { identifyEvents: true, deniedTraits: ['ssn'] }
    expect((await manage('PATCH', 'settings', settings)).status).toBe(200)
    await eventually('the setting is known', async () => {
      const identify = { userId: randomUUID(), messageId: randomUUID(), traits: { plan: 'pro', ssn: '1' } }
      await accepted('/v1/identify', identify)
      await accepted(
        '/v1/track',
        message({ messageId: `after-${identify.messageId}`, userId: identify.userId }),
      )
      await stored(`after-${identify.messageId}`)
      const [event] = await find('events', `eventId=${identify.messageId}`)
      if (!event) return false
      expect(event).toMatchObject({ eventName: 'identify', properties: { traits: { plan: 'pro' } } })
      expect(JSON.stringify(event)).not.toContain('ssn')
      return true
    })
    expect((await manage('PATCH', 'settings', { identifyEvents: null, deniedTraits: null })).status).toBe(200)
  })

  it('writes traits of a single id and of groups, and links by alias', async () => {
    const [anonymousId, userId] = [randomUUID(), randomUUID()]
    const group = message({ type: 'group', userId, groupId: 'acme', traits: { seats: 5 } })
    await accepted('/v1/batch', {
      batch: [
        { type: 'identify', anonymousId, traits: { plan: 'free', source: 'ad' } },
        { type: 'identify', userId, traits: { plan: 'pro' } },
        group,
        { type: 'alias', previousId: anonymousId, userId },
      ],
    })
    const profile = await profileOf('visitorId', anonymousId)
    expect(profile).toMatchObject({ traits: { plan: 'pro', source: 'ad', 'groups.acme': { seats: 5 } } })
    expect((await profileOf('userId', userId))?.id).toBe(profile?.id)
    expect(await stored(group.messageId)).toMatchObject({
      eventName: 'group',
      properties: { groupId: 'acme', traits: { seats: 5 } },
    })
  })

  it('quarantines bad messages of a batch with reasons, and stores the others', async () => {
    const good = [message(), message()]
    const bad = [
      [message({ event: undefined }), 'event', /required/],
      [message({ type: 'heartbeat' }), 'type', /must be one of/],
      [message({ type: 'identify', anonymousId: undefined }), 'userId', /is missing/],
      [message({ type: 'identify', userId: 'u', traits: { a: { b: { c: 1 } } } }), 'traits.a', /deeper/],
      [message({ anonymousId: 'a\nb' }), 'anonymousId', /printable/],
    ] as const
    const batch = [good[0], ...bad.map(([one]) => one), null, 7, good[1]]
    await accepted('/v1/batch', { batch, context: { ip: '198.51.100.7' } })
    for (const { messageId } of good) await stored(messageId)
    for (const [one, field, reason] of bad) {
      const found = await refused(one.messageId)
      expect(found.errors).toMatchObject([{ field, message: expect.stringMatching(reason) }])
      expect(JSON.stringify(found)).not.toContain('198.51.100.7')
      // It was never an event.
      expect((await manage('POST', `rejected-events/${found.id}/replay`)).status).toBe(422)
    }
    await accepted('/v1/track', [])
    await accepted('/v1/batch', { batch: [] })
  })

  it('quarantines what enforce rejects, without counting the context', async () => {
    const name = `strict-${randomUUID()}`
    const schema = {
      type: 'object',
      required: ['total'],
      additionalProperties: false,
      properties: { total: {} },
    }
    expect((await manage('POST', 'event-definitions', { name, schema })).status).toBe(201)
    const enforcing = { Authorization: basic(await createKey({ kind: 'sec', validationMode: 'enforce' })) }
    await eventually('enforce is in force', async () => {
      const wrong = message({ event: name })
      await accepted('/v1/track', wrong, enforcing)
      await accepted('/v1/track', message({ messageId: `after-${wrong.messageId}` }))
      await stored(`after-${wrong.messageId}`)
      return (await find('rejected-events', 'limit=10')).some(({ eventId }) => eventId === wrong.messageId)
    })
    const right = message({
      event: name,
      properties: { total: 1 },
      context: { page: { url: 'https://a.example/' } },
    })
    await accepted('/v1/track', right, enforcing)
    expect(await stored(right.messageId)).toMatchObject({ context: { url: 'https://a.example/' } })
  })

  it('corrects the times of an import that an SDK has just sent, as those for Ruby and Java do', async () => {
    const now = Date.now()
    const [minute, skew] = [60_000, 300_000]
    const timestamp = new Date(now - skew - minute).toISOString()
    const one = message({ timestamp })
    await accepted('/v1/import', { batch: [one], sentAt: new Date(now - skew).toISOString() })
    const { receivedAt, timestamp: corrected } = await stored(one.messageId)
    const agoMs = Date.parse(`${receivedAt}`) - Date.parse(`${corrected}`)
    expect(agoMs).toBeGreaterThanOrEqual(minute)
    expect(agoMs).toBeLessThan(2 * minute)
  })

  it('counts conversions, and keeps the time of imported events', async () => {
    const eventName = `paid-${randomUUID()}`
    await meter({ eventName, amountProperty: 'total' })
    const imported = message({
      event: eventName,
      properties: { total: 4900 },
      timestamp: '2021-01-15T10:00:00Z',
      sentAt: '2021-01-15T10:00:00Z',
    })
    const { messageId: _none, ...withoutId } = message({ event: eventName, userId: randomUUID() })
    await accepted('/v1/import', { batch: [imported, withoutId, message()], sentAt: '2021-01-15T10:00:00Z' })
    await accepted('/v1/import', { batch: [imported] })
    expect(await stored(imported.messageId)).toMatchObject({ timestamp: '2021-01-15T10:00:00.000Z' })
    const lacking = await eventually('the conversion without an id is quarantined', async () =>
      (await find('rejected-events', 'limit=10')).find(({ eventName: name }) => name === eventName),
    )
    expect(lacking.errors).toMatchObject([{ field: 'messageId', message: expect.stringMatching(/missing/) }])
    const conversions = await eventually('the conversion is counted', async () => {
      const found = await find('conversions', `eventId=${imported.messageId}`)
      return found.length > 0 && found
    })
    expect(conversions).toHaveLength(1)
  })

  it('accepts 500 KiB and messages of 32 KiB, and not one byte more', async () => {
    const padded = (bytes: number, wrap: (one: Json) => unknown = (one) => one): [Json, string] => {
      const one = message({ properties: { a: '' } })
      const size = Buffer.byteLength(JSON.stringify(wrap(one)))
      one.properties = { a: 'x'.repeat(bytes - size) }
      return [one, JSON.stringify(wrap(one))]
    }
    const [fits] = padded(MAX_MESSAGE_BYTES)
    const [tooLarge] = padded(MAX_MESSAGE_BYTES + 1)
    await accepted('/v1/batch', { batch: [fits, tooLarge] })
    await stored(`${fits.messageId}`)
    expect((await refused(`${tooLarge.messageId}`)).errors).toMatchObject([
      { message: 'is larger than 32768 bytes' },
    ])
    const many = Array.from({ length: 15 }, () => padded(MAX_MESSAGE_BYTES)[0])
    const bodyOf = (bytes: number) => padded(bytes, (one) => ({ batch: [...many, one] }))
    const [last, body] = bodyOf(MAX_BODY_BYTES)
    expect(Buffer.byteLength(body)).toBe(MAX_BODY_BYTES)
    await accepted('/v1/batch', body)
    await stored(`${last.messageId}`)
    const tooMuch = await send('/v1/batch', bodyOf(MAX_BODY_BYTES + 1)[1])
    expect(tooMuch.status).toBe(413)
    const inBody = { Authorization: '' }
    expect((await send('/v1/b', bodyOf(MAX_BODY_BYTES + 1)[1], inBody)).status).toBe(413)
    expect((await send('/v1/batch', '{"batch":[')).status).toBe(400)
  })

  it('accepts 2,500 messages of one person in a batch', async () => {
    const anonymousId = randomUUID()
    const batch = Array.from({ length: 2_500 }, (_, n) => ({
      type: 'track',
      event: 'n',
      anonymousId,
      messageId: `${anonymousId}-${n}`,
    }))
    await accepted('/v1/batch', { batch })
    await stored(`${anonymousId}-2499`)
    await stored(`${anonymousId}-0`)
  })

  it.each([
    ['of different people', (n: number) => n, (n: number) => n],
    ['of one person', () => 0, () => 0],
    ['of a visitor who signs in as one and another', () => 0, (n: number) => n % 2],
  ])('takes a thousand identifies %s in one request', async (_what, visitorOf, userOf) => {
    const run = randomUUID().slice(0, 8)
    const batch: Json[] = []
    for (let n = 0; n < 1_000; n++) {
      const ids = { userId: `${run}${userOf(n)}`, anonymousId: `a${run}${visitorOf(n)}` }
      batch.push({ type: 'identify', ...ids, traits: { n } })
    }
    const after = message({ userId: `${run}${userOf(batch.length - 1)}` })
    batch.push(after)
    // A busy machine may need several tries, each of which repeats nothing that another one has stored.
    const accept = async (): Promise<boolean> => {
      const response = await send('/v1/batch', { batch })
      if (response.status === 200) return true
      expect([response.status, Number(response.headers.get('Retry-After')) > 0]).toEqual([503, true])
      return false
    }
    await eventually('it is accepted', accept, 150_000)
    // On a busy machine some are processed after the answer.
    const profile = await eventually('the last is processed', async () => {
      const found = await profileOf('userId', `${after.userId}`)
      return (found?.traits as Json | undefined)?.n === batch.length - 2 && found
    })
    expect(await stored(after.messageId)).toMatchObject({ profileId: profile.id })
    expect(await find('events', `eventId=${after.messageId}`)).toHaveLength(1)
  })

  it('answers 429 with Retry-After in seconds', async () => {
    expect((await manage('PATCH', 'settings', { ingestRequestsPerMinute: 1 })).status).toBe(200)
    const limited = await eventually('the limit is known', async () => {
      const response = await send('/v1/track', message())
      return response.status === 429 && response
    })
    expect(Number(limited.headers.get('Retry-After'))).toBeGreaterThanOrEqual(1)
    expect((await manage('PATCH', 'settings', { ingestRequestsPerMinute: null })).status).toBe(200)
    await eventually('the limit is lifted', async () => (await send('/v1/track', message())).status === 200)
  })
}
