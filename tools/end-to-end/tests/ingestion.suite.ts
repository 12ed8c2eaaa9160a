import { randomUUID } from 'node:crypto'
import { type Constellation, eventually } from '@waymark/testing'
import { afterAll, beforeAll, expect, it } from 'vitest'

type Json = { [field: string]: unknown }
type Reply = { status: number; body: Json }

const priced = {
  type: 'object',
  required: ['total'],
  properties: { total: { type: 'integer' }, coupon: { type: 'string', pattern: '^[A-Z]+$' } },
}

/** Catalog, conversions, keys and backfill as a client uses them, for the deployment that `start` begins. */
export const describeIngestion = (start: () => Promise<Constellation>): void => {
  let waymark: Constellation

  beforeAll(async () => {
    waymark = await start()
  })
  afterAll(() => waymark?.stop())

  const call = async (method: string, path: string, body?: unknown, key = waymark.apiKey): Promise<Reply> => {
    const response = await waymark.request(path, {
      method,
      headers: { 'X-API-Key': key, 'Content-Type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    return { status: response.status, body: text === '' ? {} : JSON.parse(text) }
  }
  const manage = (method: string, resource: string, body?: unknown, key?: string) =>
    call(method, `/api/projects/${waymark.projectId}/${resource}`, body, key)
  const track = (events: unknown[], key?: string) => call('POST', '/api/v1/t', { events }, key)
  const trackSync = (events: unknown[], key?: string) => call('POST', '/api/v1/t?sync=1', { events }, key)
  const createKey = async (body: Json) => {
    const created = await manage('POST', 'api-keys', {
      name: 'test',
      kind: 'sec',
      scopes: ['events:write'],
      ...body,
    })
    expect(created.status).toBe(201)
    return created.body as { id: string; key: string }
  }
  const define = async (schema: unknown): Promise<{ id: string; name: string }> => {
    const name = `event-${randomUUID()}`
    const created = await manage('POST', 'event-definitions', { name, schema })
    expect(created.status).toBe(201)
    return created.body as { id: string; name: string }
  }
  const stored = async (eventId: string) =>
    ((await manage('GET', `events?eventId=${eventId}`)).body.data as Json[])[0]

  it('validates events: warns by default, refuses in enforce, accepts silently when off', async () => {
    const { name } = await define(priced)
    const wrong = { eventName: name, visitorId: 'v', properties: { total: 'much' } }
    const right = { eventName: name, visitorId: 'v', properties: { total: 1 } }
    const warned = await eventually('the definition is known', async () => {
      const { status, body } = await trackSync([wrong])
      return status === 200 && JSON.stringify(body).includes('properties.total') && body
    })
    expect(warned).toEqual({
      accepted: 1,
      failed: 0,
      queued: 0,
      processed: true,
      errors: [
        {
          index: 0,
          eventName: name,
          errors: [
            {
              field: 'properties.total',
              rule: 'type',
              expected: 'integer',
              actual: 'much',
              message: 'must be an integer; got "much"',
            },
          ],
        },
      ],
    })

    const { key: enforcing } = await createKey({ validationMode: 'enforce' })
    const refused = await trackSync([wrong, wrong], enforcing)
    expect(refused.status).toBe(422)
    expect(refused.body).toMatchObject({
      accepted: 0,
      failed: 2,
      queued: 0,
      processed: true,
      enforceRejected: 2,
    })
    expect(refused.body.errors).toHaveLength(2)
    const mixed = await trackSync([wrong, right], enforcing)
    expect(mixed.status).toBe(200)
    expect(mixed.body).toMatchObject({ accepted: 1, failed: 1, enforceRejected: 1 })
    const queued = await track([wrong], enforcing)
    expect(queued.status).toBe(202)
    expect(queued.body).toMatchObject({
      accepted: 0,
      failed: 1,
      queued: 0,
      processed: false,
      invalid: [{ index: 0, reason: expect.stringMatching(/^schema_violation: properties\.total/) }],
    })

    const { key: silent } = await createKey({ validationMode: 'off' })
    expect((await trackSync([wrong, { eventName: name }], silent)).body).toEqual({
      accepted: 2,
      failed: 0,
      queued: 0,
      processed: true,
    })
  })

  it('counts warnings in statistics once on any path, and none when off', async () => {
    const { name } = await define(priced)
    const { key: enforcing } = await createKey({ validationMode: 'enforce' })
    const { key: silent } = await createKey({ validationMode: 'off' })
    const properties = { total: 'much', coupon: 'low' }
    // Two warnings of the schema, and one of the event's fields.
    const wrong = () => ({
      eventName: name,
      eventId: randomUUID(),
      visitorId: 'v',
      clientTimestamp: 'yesterday',
      properties,
    })
    const counted = async () =>
      (await manage('GET', `stats?metric=warnings&eventName=${name}&groupBy=name`)).body.series as Json[]
    const probe = wrong()
    await eventually(
      'the definition is known',
      async () => (await trackSync([probe], enforcing)).status === 422,
    )
    // Before that, the probe may have been stored with other warnings.
    const before = await counted()
    expect((await trackSync([wrong()], silent)).body).toMatchObject({ accepted: 1 })
    expect(await counted()).toEqual(before)

    const repeated = wrong()
    const reply = await trackSync([repeated, repeated])
    expect(reply.body).toMatchObject({ accepted: 2, failed: 0 })
    expect((reply.body.errors as { errors: Json[] }[])[0]?.errors).toHaveLength(3)
    await trackSync([repeated])
    await track([repeated])
    const later = wrong()
    await track([later])
    const total = Number(before[0]?.total ?? 0) + 6
    // Of the same visitor, so that it is stored after the repeat.
    await eventually('the later event is counted', async () => Number((await counted())[0]?.total) >= total)
    expect(await counted()).toMatchObject([{ group: name, total }])
  })

  it('uses the mode of the project if the key has none, and refuses unknown events if configured', async () => {
    const { key } = await createKey({})
    const unknown = { eventName: `unknown-${randomUUID()}`, visitorId: 'v' }
    const set = (ingestValidation: Json) => manage('PATCH', 'settings', { ingestValidation })
    expect((await set({ mode: 'enforce', rejectUnknownEvents: true })).status).toBe(200)
    await eventually(
      'unknown events are refused',
      async () => (await trackSync([unknown], key)).status === 422,
    )
    await set({ mode: 'enforce' })
    const warned = await eventually('they are let pass again', async () => {
      const reply = await trackSync([unknown], key)
      return reply.status === 200 && reply
    })
    expect(warned.body.errors).toMatchObject([{ errors: [{ rule: 'unknown_event' }] }])
    await set({ mode: 'warn' })
  })

  it('keeps refused events in quarantine, and replays them after a change of the definition', async () => {
    const { id, name } = await define(priced)
    const { key } = await createKey({ validationMode: 'enforce' })
    const eventId = randomUUID()
    const event = { eventName: name, visitorId: 'v', eventId, properties: { total: 'much' } }
    await eventually('the event is refused', async () => (await trackSync([event], key)).status === 422)
    const rejected = await eventually('it is in quarantine', async () => {
      const { data } = (await manage('GET', 'rejected-events')).body as {
        data: { id: string; eventId: string }[]
      }
      return data.find((found) => found.eventId === eventId)
    })
    expect((await manage('POST', `rejected-events/${rejected.id}/replay`, {})).status).toBe(422)
    expect(
      (await manage('PATCH', `event-definitions/${id}`, { schema: { type: 'object' } })).body.version,
    ).toBe(2)
    await eventually('it can be replayed', async () => {
      return (await manage('POST', `rejected-events/${rejected.id}/replay`, {})).status === 202
    })
    await eventually('it is stored', () => stored(eventId))
  })

  it.each([
    ['an exponential pattern', { properties: { a: { pattern: '^(a+)+$' } } }],
    ['a remote reference', { $ref: 'https://example.com/schema.json' }],
    ['a recursive reference', { properties: { a: { $ref: '#' } } }],
    ['absurd size', { description: 'x'.repeat(70_000) }],
    ['what is no schema', { type: 'nonsense' }],
  ])('refuses to save a schema with %s', async (_what, schema) => {
    const { status, body } = await manage('POST', 'event-definitions', { name: randomUUID(), schema })
    expect(status).toBe(422)
    expect(body).toMatchObject({
      error: expect.any(String),
      errors: [{ field: expect.stringMatching(/^schema(\.|$)/) }],
    })
  })

  it('reads the currency of a selector that names only an amount from the property currency', async () => {
    const eventName = `order-${randomUUID()}`
    const amount = await manage('POST', 'metering-selectors', { eventName, amountProperty: 'total' })
    expect(amount).toMatchObject({
      status: 201,
      body: { amountProperty: 'total', currencyProperty: 'currency' },
    })
    const count = await manage('POST', 'metering-selectors', { eventName: `${eventName} counted` })
    expect(count).toMatchObject({ status: 201, body: { amountProperty: null, currencyProperty: null } })
    const properties = { total: 4990, currency: 'eur' }
    const probe = () => trackSync([{ eventName, eventId: randomUUID(), visitorId: 'v', properties }])
    await eventually('the selector is known', async () => (await probe()).body.queued === 1)
    const without = await trackSync([{ eventName, visitorId: 'v', properties: { total: 4990 } }])
    const [{ errors: warnings } = { errors: [] }] = without.body.errors as { errors: Json[] }[]
    expect(warnings).toContainEqual(
      expect.objectContaining({ field: 'properties.currency', rule: 'missing_currency' }),
    )
  })

  it('counts a conversion once, with amount and currency, on any path', async () => {
    const eventName = `order-${randomUUID()}`
    const selector = await manage('POST', 'metering-selectors', {
      eventName,
      filter: { '>': [{ var: 'properties.total' }, 0] },
      amountProperty: 'total',
      currencyProperty: 'currency',
    })
    expect(selector.status).toBe(201)
    const eventId = randomUUID()
    const order = { eventName, visitorId: 'v', eventId, properties: { total: 4990, currency: 'eur' } }
    const probe = () => trackSync([{ ...order, eventId: randomUUID() }])
    await eventually('the selector is known', async () => (await probe()).body.queued === 1)
    await Promise.all([track([order]), track([order, order]), trackSync([order])])
    await track([{ ...order, eventId: `${eventId}-free`, properties: { total: 0 } }])

    const conversions = await eventually('it is a conversion', async () => {
      const { data } = (await manage('GET', `conversions?eventId=${eventId}`)).body as { data: Json[] }
      return data.length > 0 && data
    })
    expect(conversions).toHaveLength(1)
    expect(conversions[0]).toMatchObject({
      eventId,
      eventName,
      selectorId: selector.body.id,
      amount: 4990,
      currency: 'EUR',
      quantity: null,
    })
    await eventually('the free order is stored', () => stored(`${eventId}-free`))
    expect((await manage('GET', `conversions?eventId=${eventId}-free`)).body.data).toEqual([])
  })

  it('backfills up to 1,000 events, and requires an id for every conversion', async () => {
    const eventName = `past-order-${randomUUID()}`
    await manage('POST', 'metering-selectors', { eventName })
    const events = (count: number, event: Json) => Array.from({ length: count }, () => event)
    const backfill = (list: unknown[]) => call('POST', '/internal/backfill/events', { events: list })
    const past = { eventName: 'past', visitorId: 'v', clientTimestamp: '2014-01-01T00:00:00Z' }
    expect((await backfill(events(1_000, past))).body).toMatchObject({ accepted: 1_000, processed: true })
    expect((await backfill(events(1_001, past))).status).toBe(400)
    const refused = await eventually('the selector is known', async () => {
      const reply = await backfill([past, { eventName }, { eventName, eventId: 'has-one' }, { eventName }])
      return reply.status === 400 && reply
    })
    expect(refused.body).toEqual({ error: 'MISSING_EVENT_ID', affectedIndices: [1, 3] })
  })

  it('enforces the scopes of keys', async () => {
    const { key: writer } = await createKey({})
    expect((await manage('GET', 'events', undefined, writer)).body).toMatchObject({
      requiredScope: 'manage:read',
    })
    const { key: reader } = await createKey({ scopes: ['manage:read'] })
    expect((await manage('GET', 'events', undefined, reader)).status).toBe(200)
    expect((await track([{ eventName: 'e' }], reader)).status).toBe(403)
    expect((await manage('POST', 'event-definitions', { name: 'n', schema: {} }, reader)).status).toBe(403)
    const { key: admin } = await createKey({ scopes: ['manage:admin'] })
    const beyond = { name: 'n', kind: 'sec', scopes: ['events:write'] }
    expect((await manage('POST', 'api-keys', beyond, admin)).body).toMatchObject({
      requiredScope: 'events:write',
    })
    const wide = { name: 'n', kind: 'pub', scopes: ['manage:read'] }
    expect((await manage('POST', 'api-keys', wide)).status).toBe(422)
  })

  it('refuses a revoked key everywhere within 5 s, and an expired one on time', async () => {
    const { id, key } = await createKey({ scopes: ['events:write', 'manage:read'] })
    expect((await track([{ eventName: 'e' }], key)).status).toBe(202)
    expect((await manage('GET', 'events', undefined, key)).status).toBe(200)
    expect((await manage('DELETE', `api-keys/${id}`)).status).toBe(204)
    await eventually('it is refused by both', async () => {
      const [gateway, management] = await Promise.all([
        track([{ eventName: 'e' }], key),
        manage('GET', 'events', undefined, key),
      ])
      return gateway.status === 401 && management.status === 401
    })
    const inMs = (ms: number) => createKey({ expiresAt: new Date(Date.now() + ms).toISOString() })
    const { key: later } = await inMs(3_600_000)
    expect((await track([{ eventName: 'e' }], later)).status).toBe(202)
    // On a busy machine, the time may be over before the request for the key is read.
    const { key: brief } = await eventually('a key with little time is created', () => inMs(2_000))
    await eventually('it expires', async () => (await track([{ eventName: 'e' }], brief)).status === 401)
    expect((await track([{ eventName: 'e' }], later)).status).toBe(202)
  })

  it('reports an id of another event on the synchronous path, and stores only the first', async () => {
    const [eventId, own] = [randomUUID(), randomUUID()]
    const { key } = await createKey({ validationMode: 'off' })
    const first = { eventName: 'first', eventId, visitorId: 'v' }
    expect((await trackSync([first], key)).body).toEqual({
      accepted: 1,
      failed: 0,
      queued: 0,
      processed: true,
    })
    expect((await trackSync([first], key)).body).toEqual({
      accepted: 1,
      failed: 0,
      queued: 0,
      processed: true,
    })
    const warningOf = (index: number, eventName: string, id: string) => ({
      index,
      eventName,
      errors: [expect.objectContaining({ field: 'eventId', rule: 'duplicate_event_id', actual: id })],
    })
    const mixed = await trackSync(
      [
        { ...first, eventName: 'second' },
        { ...first, eventId: own },
        { ...first, eventId: own, eventName: 'third' },
      ],
      key,
    )
    expect([mixed.status, mixed.body]).toEqual([
      200,
      {
        accepted: 1,
        failed: 2,
        queued: 0,
        processed: true,
        errors: [warningOf(0, 'second', eventId), warningOf(2, 'third', own)],
      },
    ])
    for (const id of [eventId, own]) expect(await stored(id)).toMatchObject({ eventName: 'first' })
    expect((await trackSync([{ ...first, eventId: 'wm:redemption:1' }, first], key)).body).toMatchObject({
      failed: 1,
      errors: [{ errors: [{ field: 'eventId', rule: 'structure' }] }],
    })
  })

  it('accepts only 1 and true as the selector of the synchronous path, in query and header', async () => {
    const event = { eventName: 'e', visitorId: 'v' }
    const ask = (path: string, headers: Record<string, string> = {}, body: Json = event) =>
      waymark.request(path, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json', ...headers },
        body: JSON.stringify(body),
      })
    const person = { visitorId: 'v', userId: randomUUID() }
    for (const value of ['1', 'true']) {
      expect((await ask(`/api/v1/t?sync=${value}`)).status).toBe(200)
      expect((await ask('/api/v1/t', { 'X-Service-Sync': value })).status).toBe(200)
      expect((await ask(`/api/v1/identify?sync=${value}`, {}, person)).status).toBe(200)
    }
    for (const value of ['0', 'false', 'yes', '', 'TRUE']) {
      const replies = [
        await ask(`/api/v1/t?sync=${value}`),
        await ask('/api/v1/t?sync=1', { 'X-Service-Sync': value }),
        await ask('/api/v1/identify', { 'X-Service-Sync': value }, person),
      ]
      for (const reply of replies) {
        const { error } = (await reply.json()) as { error: string }
        expect([reply.status, error]).toEqual([
          400,
          expect.stringContaining(`must be 1 or true, or left out; got "${value}"`),
        ])
      }
    }
    expect((await ask('/api/v1/t')).status).toBe(202)
    for (const path of [
      '/api/v1/t',
      '/api/v1/identify',
      '/internal/backfill/events',
      '/api/v1/decide',
      '/api/v1/coupons/redeem',
    ])
      expect(await (await ask(`${path}?synch=1`)).json()).toEqual({
        error: expect.stringMatching(
          /^synch is not a known query parameter; (allowed: |none is allowed here)/,
        ),
      })
  })

  it('warns of unknown fields, and refuses them outside of events', async () => {
    for (const [method, path, body] of [
      ['POST', '/api/v1/t', { events: [{ eventName: 'e' }], colour: 1 }],
      ['POST', '/internal/backfill/events', { events: [{ eventName: 'e' }], colour: 1 }],
      ['POST', '/api/v1/identify', { visitorId: 'v', userId: 'u', colour: 1 }],
      ['PUT', '/api/v1/profile', { userId: 'u', traits: {}, colour: 1 }],
      ['POST', '/api/v1/decide', { visitorId: 'v', colour: 1 }],
      ['POST', '/api/v1/coupons/redeem', { code: 'x', colour: 1 }],
    ] as const)
      expect([path, await call(method, path, body)]).toEqual([
        path,
        { status: 400, body: { error: expect.stringMatching(/^colour is not a known field.*allowed: /) } },
      ])
    const { body } = await trackSync([{ eventName: 'e', visitorId: 'v', colour: 1 }])
    expect(body).toMatchObject({
      accepted: 1,
      errors: [
        {
          errors: expect.arrayContaining([
            expect.objectContaining({ field: 'colour', rule: 'unknown_field' }),
          ]),
        },
      ],
    })
  })

  it('accepts `sendBeacon` with a public key only', async () => {
    const { key } = await createKey({ kind: 'pub' })
    const beacon = async (query: string, body: Json) => {
      const response = await waymark.request(`/api/v1/t${query}`, {
        method: 'POST',
        headers: {
          'X-API-Key': '',
          'Content-Type': 'text/plain;charset=UTF-8',
          Origin: 'https://shop.example',
          Cookie: 'a=b',
        },
        body: JSON.stringify(body),
      })
      return response.status
    }
    const event = () => ({ eventName: 'left', eventId: randomUUID(), visitorId: 'v' })
    const [byQuery, byBody] = [event(), event()]
    expect(await beacon(`?apiKey=${key}`, byQuery)).toBe(202)
    expect(await beacon('', { ...byBody, apiKey: key })).toBe(202)
    expect(await beacon('', { events: [event()], apiKey: key })).toBe(202)
    expect(await beacon(`?apiKey=${waymark.apiKey}`, event())).toBe(403)
    expect(await beacon('', { ...event(), apiKey: waymark.apiKey })).toBe(403)
    expect(await beacon('', event())).toBe(401)
    const arrived = await eventually('both are stored', async () => {
      const found = await Promise.all([stored(byQuery.eventId), stored(byBody.eventId)])
      return found.every((one) => one !== undefined) && found
    })
    expect(JSON.stringify(arrived)).not.toContain(key)
  })

  it('accepts a key as Authorization: Bearer', async () => {
    const ask = (method: string, path: string, body?: unknown) =>
      waymark.request(path, {
        method,
        headers: {
          'X-API-Key': '',
          Authorization: `Bearer ${waymark.apiKey}`,
          'Content-Type': 'application/json',
        },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      })
    expect((await ask('POST', '/api/v1/t', { eventName: 'e' })).status).toBe(202)
    expect((await ask('POST', '/api/v1/decide', { visitorId: 'v' })).status).toBe(200)
    expect((await ask('GET', `/api/projects/${waymark.projectId}/events`)).status).toBe(200)
    expect((await ask('GET', '/api/tenant/profile')).status).toBe(200)
  })

  it('returns a key once and its secret never again', async () => {
    const { id, key } = await createKey({})
    const { data } = (await manage('GET', 'api-keys')).body as { data: Json[] }
    expect(data.some((listed) => listed.id === id)).toBe(true)
    expect(JSON.stringify(data)).not.toContain(key.slice(20))
  })
}
