import { randomUUID } from 'node:crypto'
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type Constellation, createClient, eventually, type Json } from '@waymark/testing'
import { Webhook } from 'standardwebhooks'
import { afterAll, beforeAll, expect, it } from 'vitest'

type Received = { headers: IncomingHttpHeaders; text: string }

/** Webhooks, from the event to a receiver that verifies its signature. */
export const describeWebhooks = (start: () => Promise<Constellation>): void => {
  let waymark: Constellation
  let server: Server
  let url: string
  let answer = 200
  const received: Received[] = []

  beforeAll(async () => {
    server = createServer(async (request, response) => {
      received.push({ headers: request.headers, text: (await request.toArray()).join('') })
      response.writeHead(answer).end('thanks')
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    url = `http://localhost:${(server.address() as AddressInfo).port}`
    waymark = await start()
  })
  afterAll(async () => {
    server?.closeAllConnections()
    server?.close()
    await waymark?.stop()
  })

  const { call, manage } = createClient(() => waymark)
  const newWebhook = async (fields: Json = {}): Promise<{ id: string; secret: string; path: string }> => {
    const path = `/${randomUUID()}`
    const { status, body } = await manage('POST', 'webhooks', {
      url: `${url}${path}`,
      topics: ['event'],
      ...fields,
    })
    expect(status).toBe(201)
    return { ...(body as { id: string; secret: string }), path }
  }
  const track = async (event: Json): Promise<void> => {
    expect((await call('POST', '/api/v1/t', event)).status).toBe(202)
  }
  const deliveriesOf = async (id: string): Promise<Json[]> =>
    (await manage('GET', `webhooks/${id}/deliveries?limit=500`)).body.data as Json[]
  const verified = (secret: string, { text, headers }: Received) =>
    new Webhook(secret).verify(text, headers as Record<string, string>) as { type: string; data: Json }

  it('delivers the events of a person once and in order, signed, and lists them', async () => {
    const eventName = `ordered-${randomUUID()}`
    const filter = { '<': [{ var: 'properties.n' }, 30] }
    const { id, secret } = await newWebhook({ eventNames: [eventName], filter })
    const visitorId = `v-${randomUUID()}`
    for (let n = 0; n < 31; n++) {
      const event = { eventName, visitorId, eventId: `${eventName}-${n}`, properties: { n } }
      await track(event)
      if (n % 5 === 0) await track(event)
    }
    await track({ eventName: 'other', visitorId })
    await eventually('everything is delivered', async () => {
      const deliveries = await deliveriesOf(id)
      return deliveries.length === 30 && deliveries.every(({ status }) => status === 'delivered')
    })
    const own = received.filter(({ text }) => text.includes(eventName))
    const messages = own.map((one) => verified(secret, one))
    expect(messages.map(({ data }) => (data.properties as Json).n)).toEqual(
      Array.from({ length: 30 }, (_, n) => n),
    )
    expect(new Set(own.map(({ headers }) => headers['webhook-id'])).size).toBe(30)
    expect(messages[0]).toMatchObject({ type: 'event', projectId: waymark.projectId, data: { eventName } })
    const [newest] = await deliveriesOf(id)
    expect(newest).toMatchObject({
      topic: 'event',
      attempts: 1,
      responseStatus: 200,
      responseBody: 'thanks',
      error: null,
      payload: { type: 'event', data: { properties: { n: 29 } } },
    })
  })

  it('keeps a failed delivery, and sends it again on request', async () => {
    const eventName = `failed-${randomUUID()}`
    const { id, secret } = await newWebhook({ eventNames: [eventName] })
    answer = 500
    await track({ eventName, visitorId: 'v' })
    const failed = await eventually('an attempt has failed', async () => {
      const [delivery] = await deliveriesOf(id)
      return Number(delivery?.attempts) > 0 && delivery
    })
    expect(failed).toMatchObject({
      status: 'pending',
      responseStatus: 500,
      error: 'the endpoint answered 500',
    })
    expect((await manage('GET', `webhooks/${id}`)).body).toMatchObject({ failingSince: expect.any(String) })
    answer = 200
    const again = await manage('POST', `webhooks/${id}/deliveries/${failed.id}/redeliver`)
    expect(again).toMatchObject({ status: 202, body: { id: failed.id, status: 'pending' } })
    await eventually('it is delivered', async () => (await deliveriesOf(id))[0]?.status === 'delivered')
    const range = {
      from: new Date(Date.now() - 3_600_000).toISOString(),
      to: new Date(Date.now() + 60_000).toISOString(),
    }
    expect((await manage('GET', `webhooks/${id}/replay`)).body).toEqual({ replay: null })
    const replay = await manage('POST', `webhooks/${id}/replay`, range)
    expect(replay).toMatchObject({ status: 202, body: { from: range.from, state: 'running', status: null } })
    expect(Date.parse(replay.body.to as string)).toBeLessThan(Date.parse(range.to))
    const copies = await eventually('it is replayed', () => {
      const own = received.filter(({ headers }) => headers['webhook-id'] === failed.id)
      return own.length >= 3 && own
    })
    for (const copy of copies) verified(secret, copy)
    const progress = await eventually('it has ended', async () => {
      const { replay } = (await manage('GET', `webhooks/${id}/replay`)).body as { replay: Json }
      return replay.state === 'finished' && replay
    })
    expect(progress).toMatchObject({ queued: 1, finishedAt: expect.any(String), reachedAt: replay.body.to })
    expect((await manage('DELETE', `webhooks/${id}/replay`)).status).toBe(404)
    await manage('POST', `webhooks/${id}/replay`, { ...range, status: 'failed' })
    const ofFailed = await eventually('the other has ended', async () => {
      const { replay } = (await manage('GET', `webhooks/${id}/replay`)).body as { replay: Json }
      return replay.state === 'finished' && replay
    })
    expect(ofFailed).toMatchObject({ status: 'failed', queued: 0 })
  })

  it('runs one replay of a webhook at a time, which can be canceled', async () => {
    const { id } = await newWebhook()
    const range = { from: '2026-01-01T00:00:00Z', to: '2026-01-02T00:00:00Z' }
    const { answers, canceled } = await eventually('they are made before the first one ends', async () => {
      const answers = await Promise.all(
        Array.from({ length: 8 }, () => manage('POST', `webhooks/${id}/replay`, range)),
      )
      const canceled = await manage('DELETE', `webhooks/${id}/replay`)
      const accepted = answers.filter(({ status }) => status === 202)
      // It begins after 2 s. On a busy machine it may end before the last request, also before one that begins another.
      return canceled.status === 204 && accepted.length === 1 && { answers, canceled }
    })
    const refused = answers.filter(({ status }) => status === 409)
    expect(refused).toHaveLength(7)
    expect(refused[0]?.body.error).toMatch(/A replay of this webhook is running/)
    expect(canceled.status).toBe(204)
    expect((await manage('DELETE', `webhooks/${id}/replay`)).status).toBe(404)
    expect((await manage('GET', `webhooks/${id}/replay`)).body).toMatchObject({
      replay: { state: 'canceled', finishedAt: expect.any(String) },
    })
    expect(await manage('POST', `webhooks/${id}/replay`, { from: range.to, to: range.from })).toMatchObject({
      status: 422,
      body: { errors: [{ field: 'from' }] },
    })
  })

  it('delivers changes of decisions in their order, signed', async () => {
    const { secret } = await newWebhook({ topics: ['decision.changed'] })
    const key = `d-${randomUUID()}`
    const decision = { key, variants: [{ key: 'a', value: 1 }], fallbackVariant: 'a', rules: [] }
    expect((await manage('POST', 'decisions', decision)).status).toBe(201)
    for (const change of ['activate', 'pause', 'archive'])
      expect((await manage('POST', `decisions/${key}/${change}`)).status).toBe(200)
    const own = await eventually('all arrive', () => {
      const found = received.filter(({ text }) => text.includes(key))
      return found.length >= 4 && found
    })
    const messages = own.map((one) => verified(secret, one))
    expect(messages.map(({ data }) => [data.version, data.change, data.status])).toEqual([
      [1, 'created', 'draft'],
      [2, 'activated', 'active'],
      [3, 'paused', 'paused'],
      [4, 'archived', 'archived'],
    ])
    expect(messages[0]).toMatchObject({
      type: 'decision.changed',
      data: { decisionKey: key, changedBy: { kind: 'key' } },
    })
  })

  it('delivers the audit log, signed, whose deliveries only admins see', async () => {
    const { id, secret } = await newWebhook({
      topics: ['audit'],
      filter: { '==': [{ var: 'data.operation' }, 'createLink'] },
    })
    const link = await manage('POST', 'links', { destination: `https://shop.example/${randomUUID()}` })
    expect(link.status).toBe(201)
    const arrived = await eventually('it arrives', () =>
      received.find(({ text }) => text.includes(`"resourceId":"${link.body.id}"`)),
    )
    expect(verified(secret, arrived)).toMatchObject({
      type: 'audit',
      data: { operation: 'createLink', actor: { kind: 'key' }, fields: ['destination'] },
    })
    expect(await deliveriesOf(id)).toHaveLength(1)
    const { body: weaker } = await manage('POST', 'api-keys', {
      name: 'editor',
      kind: 'sec',
      scopes: ['manage:write'],
    })
    const as = { headers: { 'X-API-Key': `${weaker.key}` } }
    const path = `/api/projects/${waymark.projectId}/webhooks/${id}/deliveries`
    const list = await waymark.request(path, as)
    expect(list.status).toBe(200)
    expect(((await list.json()) as { data: unknown[] }).data).toEqual([])
    const deliveryId = arrived.headers['webhook-id']
    const redelivered = await waymark.request(`${path}/${deliveryId}/redeliver`, { method: 'POST', ...as })
    expect(redelivered.status).toBe(404)
  })

  it('delivers emails that were sent and that bounced, signed and without an address', async () => {
    const { secret } = await newWebhook({ topics: ['email.sent', 'email.bounced'] })
    const eventName = `mailed-${randomUUID()}`
    const trigger = await manage('POST', 'email-triggers', {
      name: 'Mailed',
      eventName,
      subject: 'Hello',
      html: '<p>Hello</p>',
      status: 'active',
    })
    expect(trigger.status).toBe(201)
    const visitorId = `v-${randomUUID()}`
    const email = `${visitorId}@example.com`
    const identified = { visitorId, userId: `u-${visitorId}`, traits: { email } }
    expect((await call('POST', '/api/v1/identify', identified)).status).toBe(202)
    const ofType = (type: string) => {
      const found = received.find(({ text }) => text.includes(`"type":"${type}"`))
      return found && verified(secret, found)
    }
    // Every process applies a new trigger within 5 s. Until then its events fire nothing.
    const sent = await eventually('an email is sent', async () => {
      await track({ eventName, visitorId })
      return ofType('email.sent')
    })
    expect(sent.data).toMatchObject({ triggerId: trigger.body.id, profileId: expect.any(String) })
    const bounce = {
      address: email,
      type: 'hard',
      reason: 'no such user',
      messageId: `<${sent.data.deliveryId}@waymark>`,
    }
    const reported = await call('POST', '/webhooks/email/bounces', { bounces: [bounce] })
    expect(reported.body).toMatchObject({ bounced: 1 })
    const bounced = await eventually('the bounce arrives', () => ofType('email.bounced'))
    expect(bounced.data).toMatchObject({ deliveryId: sent.data.deliveryId })
    expect(JSON.stringify([sent, bounced])).not.toContain('@example.com')
  })

  it('sends a test, also of a paused webhook, and signs by both secrets after a rotation', async () => {
    const { id, secret } = await newWebhook({ status: 'paused' })
    const rotated = await manage('POST', `webhooks/${id}/rotate-secret`, { overlapSeconds: 60 })
    expect(rotated).toMatchObject({ status: 200, body: { previousSecretExpiresAt: expect.any(String) } })
    const test = await manage('POST', `webhooks/${id}/test`)
    expect(test).toMatchObject({ status: 202, body: { topic: 'test', status: 'pending' } })
    const arrived = await eventually('it arrives', () =>
      received.find(({ headers }) => headers['webhook-id'] === test.body.id),
    )
    for (const one of [secret, rotated.body.secret as string])
      expect(verified(one, arrived)).toMatchObject({ type: 'test', data: { webhookId: id } })
    for (const path of ['replay', `deliveries/${test.body.id}/redeliver`]) {
      const body =
        path === 'replay' ? { from: '2026-01-01T00:00:00Z', to: '2026-01-02T00:00:00Z' } : undefined
      expect(await manage('POST', `webhooks/${id}/${path}`, body)).toMatchObject({
        status: 422,
        body: { errors: [{ field: 'status' }] },
      })
    }
    for (let n = 1; n < 10; n++) expect((await manage('POST', `webhooks/${id}/test`)).status).toBe(202)
    expect((await manage('POST', `webhooks/${id}/test`)).status).toBe(429)
  })

  it('supports the life cycle of a webhook, and shows its secret once', async () => {
    const { id, secret } = await newWebhook()
    expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/)
    const read = await manage('GET', `webhooks/${id}`)
    expect(read.body).toMatchObject({ id, topics: ['event'], status: 'active', version: 1 })
    expect(JSON.stringify(read.body)).not.toContain('whsec_')
    expect(JSON.stringify((await manage('GET', 'webhooks')).body)).not.toContain('whsec_')
    const paused = await manage('PATCH', `webhooks/${id}`, { status: 'paused', topics: ['conversion'] })
    expect(paused).toMatchObject({
      status: 200,
      body: { status: 'paused', topics: ['conversion'], version: 2 },
    })
    expect((await manage('DELETE', `webhooks/${id}`)).status).toBe(204)
    expect((await manage('GET', `webhooks/${id}`)).status).toBe(404)
    expect((await manage('GET', `webhooks/${id}/deliveries`)).status).toBe(404)
  })

  it('refuses invalid webhooks, naming the field', async () => {
    const refusals: [Json, string][] = [
      [{ url: 'ftp://shop.example' }, 'url'],
      [{ url: 'https://user:password@shop.example' }, 'url'],
      [{ url: 'https://shop.example/#part' }, 'url'],
      [{ url: 'https://shop.example:99999' }, 'url'],
      [{ url: `https://shop.example/${'x'.repeat(2_000)}` }, 'url'],
      [{ topics: [] }, 'topics'],
      [{ topics: ['nonsense'] }, 'topics.0'],
      [{ filter: { nonsense: [1] } }, 'filter'],
      [{ eventNames: Array.from({ length: 101 }, (_, n) => `e${n}`) }, 'eventNames'],
      [{ status: 'archived' }, 'status'],
    ]
    for (const [change, field] of refusals) {
      const { status, body } = await manage('POST', 'webhooks', {
        url: 'https://shop.example',
        topics: ['event'],
        ...change,
      })
      expect({ change, status, errors: body.errors }).toMatchObject({ status: 422, errors: [{ field }] })
    }
    const longest = `https://shop.example/${'x'.repeat(2_000 - 'https://shop.example/'.length)}`
    await newWebhook({
      url: longest,
      eventNames: Array.from({ length: 100 }, (_, n) => `e${n}`),
      status: 'paused',
    })
  })
}
