import type { ServerResponse } from 'node:http'
import { setImmediate } from 'node:timers/promises'
import { NOW } from '@waymark/database'
import { eventually, extent, services } from '@waymark/testing'
import { Webhook } from 'standardwebhooks'
import { v7 as uuidv7 } from 'uuid'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { FAILURES_UNTIL_BLOCKED } from '../src/delivery-queue-queries.ts'
import { CONNECTIONS, DAY_MS, type Harness, openHarness, RETRY } from './harness.ts'
import { type Answer, hang, ok, type Receiver, reset, startReceiver, status } from './receiver.ts'

const LATER = { ...RETRY, firstMs: 60_000, longestMs: 60_000 }
const HOUR_MS = DAY_MS / 24
const WAITING = extent(10_000, 100_000)
const withoutPerson = (count: number) => Array.from({ length: count }, () => null)

describe.skipIf(!services)('sending to webhooks', () => {
  let harness: Harness
  const receivers: Receiver[] = []
  beforeAll(async () => {
    harness = await openHarness()
    // The statistics change when a test says so.
    await harness.db.pool.query('ALTER TABLE webhook.deliveries SET (autovacuum_enabled = false)')
  })
  // Senders take every due delivery, from any test.
  beforeEach(() => harness.db.pool.query('DELETE FROM webhook.webhooks'))
  afterAll(async () => {
    for (const receiver of receivers) await receiver.stop()
    await harness?.close()
  })

  const endpoint = async (answer?: Answer) => {
    const receiver = await startReceiver(answer)
    receivers.push(receiver)
    return { ...receiver, ...(await harness.newWebhook({ url: receiver.url })) }
  }
  const statuses = async (webhookId: string) => (await harness.rows(webhookId)).map((row) => row.status)
  const isDone = async (webhookId: string) => (await statuses(webhookId)).every((one) => one === 'delivered')

  it('signs by Standard Webhooks, and stores what was answered', async () => {
    const { received, id, secret } = await endpoint()
    const [deliveryId] = await harness.enqueue(id, [null], { payload: '{"type":"event","data":{"ü":"✓"}}' })
    await harness.openSender().send()
    const [request] = received
    expect(request).toMatchObject({ id: deliveryId, text: '{"type":"event","data":{"ü":"✓"}}' })
    const headers = request?.headers as Record<string, string>
    expect(new Webhook(secret).verify(request?.text ?? '', headers)).toEqual({
      type: 'event',
      data: { ü: '✓' },
    })
    expect(() => new Webhook(secret).verify(`${request?.text} `, headers)).toThrow()
    expect(await harness.rows(id)).toMatchObject([
      {
        status: 'delivered',
        attempts: 1,
        response_status: 200,
        response_body: 'thanks',
        error: null,
        next_attempt_at: null,
      },
    ])
  })

  it('signs by both secrets until the overlap of a rotation ends', async () => {
    const { received, id, secret } = await endpoint()
    const next = 'whsec_bmV3IHNlY3JldCBmb3IgdGhlIHRlc3RzIG9mIHRoaXM='
    const rotate = (expiresInMs: number) =>
      harness.db.prisma.webhook.update({
        where: { id },
        data: {
          secret: next,
          previousSecret: secret,
          previousSecretExpiresAt: new Date(Date.now() + expiresInMs),
        },
      })
    const accepts = (by: string): boolean => {
      const { text = '', headers } = received.at(-1) ?? {}
      try {
        new Webhook(by).verify(text, headers as Record<string, string>)
        return true
      } catch {
        return false
      }
    }
    await rotate(60_000)
    await harness.enqueue(id, [null])
    await harness.openSender().send()
    expect([accepts(secret), accepts(next)]).toEqual([true, true])
    await rotate(-1)
    await harness.enqueue(id, [null])
    await harness.openSender().send()
    expect([accepts(secret), accepts(next)]).toEqual([false, true])
  })

  it('sends each delivery once from several processes, and those of a person in order', async () => {
    const { received, id, mostOpen } = await endpoint(async (response) => {
      // Some answers overtake others.
      for (let turns = received.length % 4; turns > 0; turns--) await setImmediate()
      response.end()
    })
    const people = [uuidv7(), uuidv7(), uuidv7(), uuidv7()]
    const ids = await harness.enqueue(
      id,
      Array.from({ length: 200 }, (_, n) => people[n % people.length] ?? null),
    )
    const senders = Array.from({ length: 3 }, () => harness.openSender())
    await eventually('everything is delivered', async () => {
      await Promise.all(senders.map(({ send }) => send()))
      return isDone(id)
    })
    expect(received.map((one) => one.id).sort()).toEqual(ids)
    for (const person of people) {
      const numbers = received
        .filter(({ payload }) => payload.data.orderingKey === person)
        .map(({ payload }) => Number(payload.data.n))
      expect(numbers).toHaveLength(50)
      expect(numbers).toEqual(numbers.toSorted((a, b) => a - b))
    }
    expect(mostOpen()).toBeLessThanOrEqual(people.length)
  })

  it('keeps the order of a person when a process has crashed with some of the deliveries', async () => {
    const { received, id } = await endpoint()
    const at = new Date()
    const ids = await harness.enqueue(id, Array(8).fill(uuidv7()), { queuedAt: at, nextAttemptAt: at })
    const crashed = harness.openSender({ leaseMs: 1, connectionsPerEndpoint: 3 })
    expect(await crashed.queue.claim(new Map(), 100)).toHaveLength(3)
    const { send } = harness.openSender({ connectionsPerEndpoint: 3 })
    await eventually('everything is delivered', async () => {
      await send()
      return isDone(id)
    })
    expect(received.map((one) => one.id)).toEqual(ids)
  })

  it('has at most the allowed deliveries to one endpoint in flight', async () => {
    const open: ServerResponse[] = []
    const { id, mostOpen } = await endpoint((response) => {
      open.push(response)
      if (open.length === 3) for (const one of open.splice(0)) one.end()
    })
    await harness.enqueue(id, withoutPerson(51))
    await harness.openSender({ connectionsPerEndpoint: 3 }).send()
    expect(await isDone(id)).toBe(true)
    expect(mostOpen()).toBe(3)
  })

  it.each<[string, Answer, number | null, RegExp]>([
    ['answers 500', status(500), 500, /answered 500/],
    ['answers 404', status(404), 404, /answered 404/],
    ['redirects', status(302, { Location: 'http://localhost:1/' }), 302, /redirects are not followed/],
    ['resets the connection', reset, null, /ECONNRESET/],
    ['hangs', hang, null, /no answer within 0.3 s/],
  ])('retries when the endpoint %s', async (_, answer, responseStatus, error) => {
    const { id, ids, answerWith } = await endpoint(answer)
    const [deliveryId] = await harness.enqueue(id, [null])
    await harness.openSender({ timeoutMs: answer === hang ? 300 : 60_000, retry: LATER }).send()
    expect(await harness.rows(id)).toMatchObject([
      {
        status: 'pending',
        attempts: 1,
        attempt_token: null,
        response_status: responseStatus,
        error: expect.stringMatching(error),
      },
    ])
    expect(await harness.webhook(id)).toMatchObject({ failures: 1, failing_since: expect.any(Date) })
    answerWith(ok)
    await harness.letTimePass()
    await harness.openSender().send()
    expect(await harness.rows(id)).toMatchObject([{ status: 'delivered', attempts: 2, error: null }])
    expect(await harness.webhook(id)).toMatchObject({ failures: 0, failing_since: null })
    // An attempt that is given up after 0.3 s may not have reached the endpoint.
    if (answer === hang) expect(new Set(ids())).toEqual(new Set([deliveryId]))
    else expect(ids()).toEqual([deliveryId, deliveryId])
  })

  it('accepts answers that come after those of later requests', async () => {
    const open: ServerResponse[] = []
    const { id } = await endpoint((response) => {
      open.push(response)
      if (open.length === 3) for (const one of open.toReversed()) one.end()
    })
    await harness.enqueue(id, withoutPerson(3))
    await harness.openSender().send()
    expect(await isDone(id)).toBe(true)
  })

  it('continues with a person after a failed delivery, which is repeated later', async () => {
    const person = uuidv7()
    const { id, ids } = await endpoint((response, { payload }) =>
      payload.data.n === 1 && ids().length === 2 ? status(500)(response, {} as never) : void response.end(),
    )
    const sent = await harness.enqueue(id, [person, person, person])
    await eventually('everything is delivered', async () => {
      await harness.openSender().send()
      return isDone(id)
    })
    expect(ids()).toHaveLength(4)
    expect(new Set(ids())).toEqual(new Set(sent))
  })

  it('gives up a delivery after three days', async () => {
    const { id } = await endpoint(status(500))
    await harness.enqueue(id, [null], { queuedAt: new Date(Date.now() - 3 * DAY_MS) })
    await harness.openSender().send()
    expect(await harness.rows(id)).toMatchObject([{ status: 'failed', attempts: 1, next_attempt_at: null }])
  })

  it('pauses a webhook at once when its endpoint is gone', async () => {
    const { id, ids } = await endpoint(status(410))
    await harness.enqueue(id, withoutPerson(20))
    await harness.openSender({ connectionsPerEndpoint: 1 }).send()
    expect(await harness.webhook(id)).toMatchObject({
      status: 'paused',
      paused_reason: 'gone',
      notice_due_at: expect.any(Date),
    })
    expect(ids()).toHaveLength(1)
    expect(await statuses(id)).toEqual(Array(20).fill('pending'))
  })

  it('counts a pause once when several attempts fail at the same time', async () => {
    const answers: (() => void)[] = []
    const { id } = await endpoint((response) => {
      answers.push(() => void response.writeHead(410).end())
      if (answers.length === 8) for (const answer of answers) answer()
    })
    await harness.enqueue(id, withoutPerson(8))
    const paused: string[] = []
    await harness.openSender({ onPaused: (reason) => paused.push(reason) }).send()
    expect(paused).toEqual(['gone'])
    expect(await statuses(id)).toEqual(Array(8).fill('pending'))
  })

  it('pauses a webhook that has failed for three days, and not before', async () => {
    const { id } = await endpoint(status(500))
    const failingFor = async (ms: number) => {
      await harness.enqueue(id, [null])
      await harness.db.pool.query(
        `UPDATE webhook.webhooks SET failing_since = now() - $1 * interval '1 ms', failures = 1, blocked_until = NULL`,
        [ms],
      )
      await harness.openSender({ retry: LATER }).send()
      return harness.webhook(id)
    }
    expect(await failingFor(3 * DAY_MS - 60_000)).toMatchObject({ status: 'active', notice_due_at: null })
    expect(await failingFor(3 * DAY_MS)).toMatchObject({
      status: 'paused',
      paused_reason: 'failing',
      notice_due_at: expect.any(Date),
    })
  })

  it.each([
    ['pauses', 'since a delivery was queued', 0],
    ['does not pause', 'for less time', 2 * HOUR_MS],
  ])('%s a webhook that has failed %s when the delivery is given up', async (what, _, laterMs) => {
    const { id } = await endpoint(status(500))
    // The next attempt would come half an hour later, or later.
    const queuedAt = new Date(Date.now() - 3 * DAY_MS + HOUR_MS / 3)
    await harness.enqueue(id, [null], { queuedAt, attempts: 80 })
    const failingSince = new Date(queuedAt.getTime() + laterMs + 10_000)
    await harness.db.prisma.webhook.update({ where: { id }, data: { failures: 80, failingSince } })
    const retry = { firstMs: HOUR_MS, longestMs: HOUR_MS, giveUpAfterMs: 3 * DAY_MS }
    await harness.openSender({ retry }).send()
    expect(await statuses(id)).toEqual(['failed'])
    expect(await harness.webhook(id)).toMatchObject(
      what === 'pauses'
        ? { status: 'paused', paused_reason: 'failing', notice_due_at: expect.any(Date) }
        : { status: 'active', notice_due_at: null },
    )
  })

  it('sends only tests to a paused webhook, each once', async () => {
    const { id, ids, answerWith } = await endpoint()
    await harness.db.prisma.webhook.update({ where: { id }, data: { status: 'paused' } })
    await harness.enqueue(id, withoutPerson(3))
    const [test] = await harness.enqueue(id, [null], { test: true, topic: 'test' })
    await harness.openSender().send()
    expect(ids()).toEqual([test])
    answerWith(status(500))
    await harness.enqueue(id, [null], { test: true, topic: 'test' })
    await harness.openSender().send()
    expect((await statuses(id)).sort()).toEqual(['delivered', 'failed', 'pending', 'pending', 'pending'])
    expect(await harness.webhook(id)).toMatchObject({ failures: 0 })
  })

  it('sends one delivery at a time to a failing endpoint, and more when it works again', async () => {
    const { id, ids, answerWith, mostOpen } = await endpoint(status(503))
    await harness.enqueue(id, withoutPerson(40))
    const sender = harness.openSender({ connectionsPerEndpoint: 1 })
    await sender.send()
    expect(ids()).toHaveLength(FAILURES_UNTIL_BLOCKED)
    expect(await harness.webhook(id)).toMatchObject({
      failures: FAILURES_UNTIL_BLOCKED,
      blocked_until: expect.any(Date),
    })
    await sender.send()
    expect(ids()).toHaveLength(FAILURES_UNTIL_BLOCKED)
    await harness.letTimePass()
    await harness.openSender().send()
    expect(ids()).toHaveLength(FAILURES_UNTIL_BLOCKED + 1)
    expect(mostOpen()).toBe(1)
    answerWith(ok)
    await harness.letTimePass()
    await harness.openSender().send()
    expect(await isDone(id)).toBe(true)
    expect(await harness.webhook(id)).toMatchObject({ failures: 0, blocked_until: null })
  })

  /** In how many ms the only delivery is retried at the earliest, and the endpoint called again. */
  const waits = async (id: string) => {
    const { rows } = await harness.db.pool.query(
      `SELECT extract(epoch FROM d.next_attempt_at - ${NOW})::float8 * 1000 AS retry,
         extract(epoch FROM w.retry_after - ${NOW})::float8 * 1000 AS endpoint
       FROM webhook.deliveries d JOIN webhook.webhooks w ON w.id = d.webhook_id WHERE w.id = $1`,
      [id],
    )
    return rows[0]
  }
  const HOURLY = { firstMs: 60_000, longestMs: HOUR_MS, giveUpAfterMs: 3 * DAY_MS }

  it.each([
    ['seconds', 429, () => '1800', HOUR_MS / 2],
    ['a date', 503, () => new Date(Date.now() + HOUR_MS / 2).toUTCString(), HOUR_MS / 2],
    ['more than the longest pause', 429, () => '86400', HOUR_MS],
  ])('does not call an endpoint that asks to wait by %s before', async (_, code, retryAfter, waitMs) => {
    const { id, ids, answerWith } = await endpoint(status(code, { 'Retry-After': retryAfter() }))
    await harness.enqueue(id, [null])
    const { send } = harness.openSender({ retry: HOURLY })
    await send()
    const { retry, endpoint: again } = await waits(id)
    for (const wait of [retry, again]) {
      expect(wait).toBeLessThanOrEqual(waitMs)
      expect(wait).toBeGreaterThan(waitMs - 120_000)
    }
    answerWith(ok)
    const [later] = await harness.enqueue(id, [null])
    await send()
    expect(ids()).toHaveLength(1)
    await harness.db.pool.query(`UPDATE webhook.webhooks SET retry_after = now() - interval '1 s'`)
    await send()
    expect(ids().slice(1)).toEqual([later])
  })

  it.each([
    ['earlier than the schedule', 429, '1'],
    ['a malformed time', 429, 'tomorrow'],
    ['with another status', 500, '1800'],
  ])('keeps the schedule when an endpoint asks to wait by %s', async (_, code, retryAfter) => {
    const { id } = await endpoint(status(code, { 'Retry-After': retryAfter }))
    await harness.enqueue(id, [null])
    await harness.openSender({ retry: HOURLY }).send()
    const { retry } = await waits(id)
    expect(retry).toBeLessThanOrEqual(60_000)
    expect(retry).toBeGreaterThan(0)
  })

  it('sends an endpoint that asks to wait nothing else, until it is called again', async () => {
    const person = uuidv7()
    const answers = new Map([[1, status(429, { 'Retry-After': '1800' })]])
    const asked = Promise.withResolvers<void>()
    const { id, ids } = await endpoint(async (response, received) => {
      const answer = answers.get(Number(received.payload.data.n))
      // The message about the person is accepted after the other one was not.
      if (!answer) await asked.promise
      await (answer ?? ok)(response, received)
    })
    const sent = await harness.enqueue(id, [person, null, person])
    const running = harness.openSender({ retry: HOURLY }).send()
    await eventually(
      'the endpoint has asked to wait',
      async () => (await harness.webhook(id))?.retry_after !== null,
    )
    asked.resolve()
    await running
    expect(ids().sort()).toEqual(sent.slice(0, 2))
    expect(await harness.webhook(id)).toMatchObject({ failures: 0, retry_after: expect.any(Date) })
    const [test] = await harness.enqueue(id, [null], { test: true, topic: 'test', payload: '{"data":{}}' })
    await harness.openSender().send()
    expect(ids()).toContain(test)
    expect(ids()).toHaveLength(3)
    expect(await harness.openSender().queue.oldestDueSeconds()).toBe(0)
  })

  it('does not block a failing endpoint because of a test', async () => {
    const { id, ids } = await endpoint()
    const failures = FAILURES_UNTIL_BLOCKED
    await harness.db.prisma.webhook.update({ where: { id }, data: { failures } })
    const tests = await harness.enqueue(id, [null], { test: true, topic: 'test' })
    await harness.openSender().send()
    expect(await harness.webhook(id)).toMatchObject({ failures, blocked_until: null })
    const deliveries = await harness.enqueue(id, [null])
    await harness.openSender().send()
    expect(ids()).toEqual([...tests, ...deliveries])
  })

  it(`delays no endpoint because of a failing one with ${WAITING} waiting deliveries`, async () => {
    // As when a first burst arrives: the planner expects few deliveries.
    await harness.db.pool.query('ANALYZE webhook.deliveries')
    // It hangs until the others have got everything, and then breaks every connection.
    const hanging: ServerResponse[] = []
    let breaks = false
    const dead = await endpoint((response, received) => {
      if (breaks) return reset(response, received)
      hanging.push(response)
    })
    const healthy = await endpoint()
    // In portions, because a busy machine takes longer for all of them than a statement may.
    for (let portion = 0; portion < WAITING / 10_000; portion++)
      await harness.db.pool.query(
        `INSERT INTO webhook.deliveries (id, project_id, webhook_id, topic, message_key, payload, status, next_attempt_at)
         SELECT gen_random_uuid(), $1, $2, 'event', gen_random_uuid(), '{"type":"event","data":{}}', 'pending',
           now() - interval '1 hour' FROM generate_series(1, 10000)`,
        [harness.projectId, dead.id],
      )
    await harness.enqueue(healthy.id, withoutPerson(500))
    const stopping = new AbortController()
    const running = harness.openSender({ firstBlockMs: DAY_MS, longestBlockMs: DAY_MS }).run(stopping.signal)
    await eventually('all of the healthy one is delivered', () => isDone(healthy.id))
    expect(healthy.received).toHaveLength(500)
    breaks = true
    for (const response of hanging) response.socket?.resetAndDestroy()
    await eventually('the dead one is blocked', async () => (await harness.webhook(dead.id))?.blocked_until)
    stopping.abort()
    await running
    // Each failure before the one that blocks frees a connection.
    expect(dead.received.length).toBeLessThanOrEqual(CONNECTIONS + FAILURES_UNTIL_BLOCKED - 1)
  })

  it('delays no project because of others whose endpoints are slow but answer', async () => {
    const SLOTS = 64
    const open: (() => void)[] = []
    const slow = await startReceiver(async (response) => {
      await new Promise<void>((resolve) => open.push(resolve))
      response.end()
    })
    receivers.push(slow)
    const slowWebhooks: string[] = []
    for (const _ of Array(3)) {
      const projectId = await harness.newProject()
      for (const _ of Array(10)) {
        const { id } = await harness.newWebhook({ url: slow.url, projectId })
        slowWebhooks.push(id)
        await harness.enqueue(id, withoutPerson(20), { projectId })
      }
    }
    const stopping = new AbortController()
    const running = harness.openSender({ maxInFlight: SLOTS, timeoutMs: 60_000 }).run(stopping.signal)
    // Each of three projects may have as many as are free: a quarter.
    await eventually('the slow projects have what they may', () => slow.mostOpen() >= (SLOTS * 3) / 4 - 3)
    const other = await endpoint()
    for (let n = 1; n <= extent(5, 20); n++) {
      await harness.enqueue(other.id, [null])
      await eventually('it arrives while the slow ones are in flight', () => other.received.length === n)
    }
    expect(slow.received).toHaveLength(slow.mostOpen())
    expect(slow.mostOpen()).toBeLessThan(SLOTS)
    slow.answerWith(ok)
    for (const answer of open) answer()
    await eventually('the slow ones get everything', async () =>
      (await Promise.all(slowWebhooks.map(isDone))).every(Boolean),
    )
    stopping.abort()
    await running
  })

  it.each([
    [1, 1],
    [2, 1],
    [3, 2],
    [16, 8],
    [17, 9],
  ])('gives a project half of %i slots: %i', async (slots, expected) => {
    for (const _ of Array(4)) {
      const { id } = await endpoint()
      await harness.enqueue(id, withoutPerson(10))
    }
    const { queue } = harness.openSender({ connectionsPerEndpoint: 100 })
    const claimed = await queue.claim(new Map(), slots)
    expect(claimed).toHaveLength(expected)
    const busy = new Map(
      [...Map.groupBy(claimed, ({ webhookId }) => webhookId)].map(([id, of]) => [id, of.length]),
    )
    expect((await queue.claim(busy, slots - expected)).length).toBe(0)
  })

  it('finishes what is in flight when it is stopped, and releases the rest', async () => {
    const person = uuidv7()
    const stopping = new AbortController()
    const { id, ids } = await endpoint((response) => {
      stopping.abort()
      response.end()
    })
    await harness.enqueue(id, [person, person, person])
    await harness.openSender().run(stopping.signal)
    expect(ids()).toHaveLength(1)
    expect(await harness.rows(id)).toMatchObject([
      { status: 'delivered' },
      { status: 'pending', attempt_token: null, attempts: 0 },
      { status: 'pending', attempt_token: null, attempts: 0 },
    ])
  })

  it.each([
    ['is paused', { status: 'paused' }],
    ['is deleted', { status: 'paused', deletedAt: new Date() }],
  ])('sends no further message about a person once the webhook %s', async (_, change) => {
    const person = uuidv7()
    const { id, ids } = await endpoint(async (response) => {
      await harness.db.prisma.webhook.update({ where: { id }, data: change })
      response.end()
    })
    await harness.enqueue(id, [person, person, person])
    await harness.openSender().send()
    expect(ids()).toHaveLength(1)
    expect(await harness.rows(id)).toMatchObject([
      { status: 'delivered' },
      { status: 'pending', attempt_token: null, attempts: 0 },
      { status: 'pending', attempt_token: null, attempts: 0 },
    ])
  })

  it('sends the further messages about a person to a new address at once', async () => {
    const person = uuidv7()
    const other = await startReceiver()
    receivers.push(other)
    const { id, ids } = await endpoint(async (response) => {
      const data = { url: other.url, version: { increment: 1 } }
      await harness.db.prisma.webhook.update({ where: { id }, data })
      response.end()
    })
    const sent = await harness.enqueue(id, [person, person, person])
    await harness.openSender().send()
    expect([...ids(), ...other.ids()]).toEqual(sent)
    expect(ids()).toHaveLength(1)
  })

  it('sends no message about a person who is erased meanwhile', async () => {
    const person = uuidv7()
    const { id, ids } = await endpoint(async (response) => {
      await harness.db.pool.query('DELETE FROM webhook.deliveries WHERE ordering_key = $1', [person])
      response.end()
    })
    await harness.enqueue(id, [person, person])
    await harness.openSender().send()
    expect(ids()).toHaveLength(1)
  })

  it('sends nothing for an archived project', async () => {
    const projectId = await harness.newProject()
    const receiver = await startReceiver()
    receivers.push(receiver)
    const { id } = await harness.newWebhook({ url: receiver.url, projectId })
    await harness.enqueue(id, [null], { projectId, nextAttemptAt: new Date(Date.now() - 60_000) })
    const { queue } = harness.openSender()
    expect(await queue.oldestDueSeconds()).toBeGreaterThanOrEqual(60)
    await harness.db.prisma.project.update({ where: { id: projectId }, data: { archivedAt: new Date() } })
    await harness.openSender().send()
    expect(receiver.received).toEqual([])
    expect(await queue.oldestDueSeconds()).toBe(0)
  })

  it('deletes a deleted webhook after its deliveries, in portions, and sends none of them', async () => {
    const { id, received } = await endpoint()
    const kept = await endpoint()
    await harness.enqueue(kept.id, withoutPerson(2))
    await harness.db.pool.query(
      `INSERT INTO webhook.deliveries (id, project_id, webhook_id, topic, message_key, payload, status, next_attempt_at, test)
       SELECT gen_random_uuid(), $1, $2, 'event', gen_random_uuid(), '{}', 'pending', now(), n % 2 = 0
       FROM generate_series(1, 10001) AS n`,
      [harness.projectId, id],
    )
    await harness.db.prisma.webhook.update({
      where: { id },
      data: { deletedAt: new Date(), status: 'paused' },
    })
    const { queue, send } = harness.openSender()
    await send()
    expect(received).toEqual([])
    const rows: number[] = []
    do rows.push(await queue.deleteDeleted())
    while (rows.at(-1) !== 0)
    expect(rows).toEqual([5_000, 5_000, 1, 1, 0])
    expect(await harness.webhook(id)).toBeUndefined()
    expect(await isDone(kept.id)).toBe(true)
    expect(await harness.rows(kept.id)).toHaveLength(2)
  })

  it('deletes deliveries that are older than the retention, and no others', async () => {
    const { id } = await endpoint()
    const ago = (ms: number) => ({
      createdAt: new Date(Date.now() - ms),
      status: 'failed',
      nextAttemptAt: null,
    })
    await harness.enqueue(id, withoutPerson(3), ago(30 * DAY_MS + 60_000))
    const kept = await harness.enqueue(id, withoutPerson(2), ago(30 * DAY_MS - 60_000))
    const { queue } = harness.openSender()
    expect(await queue.deleteOld(30)).toBe(3)
    expect(await queue.deleteOld(30)).toBe(0)
    expect((await harness.rows(id)).map((row) => row.id)).toEqual(kept)
  })
})
