import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { readdir } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { type ServiceName, serviceNames } from '@waymark/database'
import { eventually, requireServices, untilAvailable } from '@waymark/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { expectStoredOnce, report } from '../tests/audit.ts'
import { poolAtRest } from '../tests/coupons.ts'
import { RECOVERY_MS } from '../tests/durations.ts'
import { createEarlierEvents } from '../tests/earlier-events.ts'
import { createFleet, type Fleet, type Replica } from '../tests/fleet.ts'
import { type Load, refusals, startLoad } from '../tests/load.ts'
import { type RequestKind, startRequests } from '../tests/requests.ts'

const { UPGRADE_FROM, UPGRADE_ROOT } = process.env

/** How long a process continues to answer after SIGTERM, in ms. */
const DRAIN_MS = 2_000
/** How much later its clients notice, as behind an Ingress, in ms. */
const NOTICED_AFTER_MS = 300
/** The answers to each kind of request while both versions of a service run, at least. */
const ANSWERS_SIDE_BY_SIDE = 5
/** Pause between two requests of a sender of events, in ms. */
const PAUSE_MS = 200
/** The largest share of requests that may be answered 503, after which a client repeats them. */
const MAX_REFUSED_SHARE = 0.01
/** A request without an answer after this time has failed, in ms. */
const CLIENT_TIMEOUT_MS = 20_000
const CODES = 5_000
/** The events that the previous version has stored before the upgrade. */
const EARLIER_EVENTS = Number(process.env.UPGRADE_EARLIER_EVENTS ?? 200_000)
const BROWSER = 'Mozilla/5.0 (X11; Linux x86_64) Chrome/126.0.0.0 Safari/537.36'

type Json = Record<string, unknown>
/** Replaces every service, in this order, by the version in a folder; default: this one. */
type Step = { name: string; root?: string; order: readonly ServiceName[] }

const backwards = serviceNames.toReversed()
/** In two orders, so that the old version of every service works with the new one of every other, and vice versa. */
const STEPS: readonly Step[] = [
  { name: 'upgraded', order: serviceNames },
  { name: 'went back', order: backwards, ...(UPGRADE_ROOT && { root: UPGRADE_ROOT }) },
  { name: 'upgraded again', order: backwards },
]

describe.skipIf(!UPGRADE_ROOT)('an upgrade under load', () => {
  let fleet: Fleet
  let receiver: Server
  let link: Json
  let pool: Json
  let codes: string[]
  let earlier: Awaited<ReturnType<typeof createEarlierEvents>>
  /** The processes of each service that get requests. */
  const running = new Map<ServiceName, Replica[]>()
  const started: Replica[] = []
  /** The events that the webhook delivered. */
  const delivered = new Set<string>()

  const start = async (app: ServiceName, root?: string): Promise<void> => {
    const replica = await fleet.start(app, fleet.credentialsOf(app), root)
    started.push(replica)
    running.set(app, [...(running.get(app) ?? []), replica])
  }
  /** Sends a request to one of the processes of a service, like a proxy. */
  const request = (app: ServiceName, path: string, init: RequestInit = {}): Promise<Response> => {
    const replicas = running.get(app) ?? []
    const replica = replicas[Math.floor(Math.random() * replicas.length)]
    if (!replica) throw new Error(`no ${app} runs`)
    return replica.request(path, { signal: AbortSignal.timeout(CLIENT_TIMEOUT_MS), ...init })
  }
  const post = (app: ServiceName, path: string, body: object, headers: Record<string, string> = {}) =>
    request(app, path, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', ...headers },
      body: JSON.stringify(body),
    })
  const manage = (resource: string, body?: object): Promise<Response> => {
    const path = `/api/projects/${fleet.projectId}/${resource}`
    return body ? post('management-api', path, body) : request('management-api', path)
  }
  const create = async (resource: string, body: object): Promise<Json> => {
    // These are the first requests of processes that have just started, on a machine that may be busy.
    const response = await untilAvailable(() => manage(resource, body))
    const created = (await response.json()) as Json
    expect({ resource, status: response.status, created }).toMatchObject({ status: 201 })
    return created
  }

  /** Creates what the requests use. */
  const createResources = async (): Promise<void> => {
    const { port } = receiver.address() as AddressInfo
    await create('webhooks', { url: `http://localhost:${port}/`, topics: ['event'] })
    await create('email-triggers', {
      name: 'Welcome',
      eventName: 'signed_up',
      status: 'active',
      subject: 'Welcome',
      html: '<p>Good to have you.</p>',
    })
    await create('decisions', {
      key: 'color',
      status: 'active',
      fallbackVariant: 'red',
      variants: ['red', 'blue'].map((key) => ({ key, value: key })),
      rules: [{ split: ['red', 'blue'].map((variant) => ({ variant, weight: 1 })) }],
    })
    link = await create('links', { destination: 'https://shop.example/' })
    pool = await create('coupon-pools', {
      name: 'Summer',
      kind: 'unique',
      size: CODES,
      discount: { type: 'percent', value: 10 },
    })
    codes = await eventually('the codes are generated', async () => {
      const { rows } = await fleet.db.pool.query<{ code: string }>(
        `SELECT c.code FROM coupon.coupons c JOIN coupon.pools p ON p.id = c.pool_id
         WHERE p.id = $1 AND p.status = 'ready'`,
        [pool.id],
      )
      return rows.length === CODES && rows.map(({ code }) => code)
    })
  }

  beforeAll(async () => {
    receiver = createServer(async (incoming, response) => {
      const { data } = JSON.parse((await incoming.toArray()).join('')) as { data: { eventId: string } }
      delivered.add(data.eventId)
      response.end()
    })
    await once(receiver.listen(0, '127.0.0.1'), 'listening')
    const settings = {
      DRAIN_MS: `${DRAIN_MS}`,
      WEBHOOK_ALLOW_PRIVATE_ADDRESSES: 'true',
      LIMIT_EMAILS_PER_HOUR: '1000000',
      // A busy machine answers a new process late.
      DATABASE_WAIT_MS: '120000',
    }
    fleet = await createFleet(requireServices(), settings, UPGRADE_ROOT)
    earlier = await createEarlierEvents(fleet, EARLIER_EVENTS)
    await earlier.store()
    // The second generates the codes.
    for (const app of ['management-api', 'coupon-service'] as const) await start(app, UPGRADE_ROOT)
    await createResources()
    // They read the configuration at their start. One after the other, because a busy machine would exceed timeouts.
    for (const app of serviceNames) if (!running.has(app)) await start(app, UPGRADE_ROOT)
  })
  afterAll(async () => {
    receiver?.closeAllConnections()
    receiver?.close()
    await fleet?.stop()
  })

  /** Stops a process like a rolling update: it gets requests for a moment after SIGTERM. */
  const retire = async (app: ServiceName, replica: Replica): Promise<void> => {
    const stopped = replica.terminate()
    await sleep(NOTICED_AFTER_MS)
    running.set(
      app,
      (running.get(app) ?? []).filter((other) => other !== replica),
    )
    const { exitCode } = await stopped
    expect({ app, exitCode }).toEqual({ app, exitCode: 0 })
  }

  it(`from ${UPGRADE_FROM} and back fails no request, loses nothing and repeats nothing`, async () => {
    const synchronous: string[] = []
    let n = 0
    const kinds: Record<string, RequestKind> = {
      decide: {
        status: 200,
        next: () => {
          const visitorId = `decided ${n++}`
          return () => post('decision-service', '/api/v1/decide', { visitorId })
        },
      },
      redirect: {
        status: 302,
        next: () => () =>
          request('link-redirector', `/s/${link.code}`, {
            redirect: 'manual',
            headers: { 'User-Agent': BROWSER },
          }),
      },
      redeem: {
        status: 200,
        next: () => {
          const body = { code: codes.pop(), userId: `shopper ${n++ % 100}` }
          const headers = { 'Idempotency-Key': `${body.code}` }
          return () => post('coupon-service', '/api/v1/coupons/redeem', body, headers)
        },
      },
      'synchronous event': {
        status: 200,
        next: () => {
          const event = { eventId: `sync-${randomUUID()}`, eventName: 'signed_up', visitorId: 'reader' }
          synchronous.push(event.eventId)
          return () => post('ingest-gateway', '/api/v1/t?sync=1', event)
        },
      },
      identify: {
        status: 202,
        next: () => {
          const traits = { plan: `${n++}` }
          const body = { visitorId: `visitor ${n % 100}`, userId: `shopper ${n % 100}`, traits }
          return () => post('ingest-gateway', '/api/v1/identify', body)
        },
      },
      'list definitions': { status: 200, next: () => () => manage('event-definitions') },
      'create a link': {
        status: 201,
        next: () => () => manage('links', { destination: `https://shop.example/${n++}` }),
      },
    }
    const reader = { visitorId: 'reader', userId: 'reader', traits: { email: 'reader@example.com' } }
    await eventually('the reader of emails is known', async () => {
      const { status } = await post('ingest-gateway', '/api/v1/identify', reader)
      return status === 202
    })
    const requests = startRequests(kinds)
    const events = startLoad({
      name: 'upgrade',
      send: (path, init) => request('ingest-gateway', path, init),
      batch: 2,
      pauseMs: PAUSE_MS,
    })

    const took: Record<string, string> = {}
    for (const { name, root, order } of STEPS) {
      const begunAt = performance.now()
      await requests.untilAnswered(ANSWERS_SIDE_BY_SIDE)
      await fleet.setUp(root)
      for (const app of order) {
        const [old] = running.get(app) ?? []
        await start(app, root)
        await requests.untilAnswered(ANSWERS_SIDE_BY_SIDE)
        if (old) await retire(app, old)
      }
      took[name] = `${Math.round((performance.now() - begunAt) / 1_000)} s`
      report(`upgrade from ${UPGRADE_FROM}`, { [name]: took[name], failures: requests.failures.length })
    }
    await requests.untilAnswered(ANSWERS_SIDE_BY_SIDE)
    await earlier.repeat((path, init) => request('ingest-gateway', path, init))
    const { answered, refused, slowestMs } = await requests.stop()
    const { failures } = requests
    const load = await events.stop()
    report(`upgrade from ${UPGRADE_FROM}`, {
      ...took,
      ...answered,
      failures: failures.length,
      'answered 503': refused,
      'slowest answer': `${slowestMs} ms`,
    })
    if (failures.length > 0) process.stdout.write(fleet.lastWords())
    expect(failures).toEqual([])
    expect(load.attempts.filter(({ status }) => status !== 202 && status !== 503)).toEqual([])
    const sent = Object.values(answered).reduce((sum, count) => sum + count, load.attempts.length)
    expect(refused + refusals(load)).toBeLessThanOrEqual(sent * MAX_REFUSED_SHARE)

    await expectStoredOnce(fleet, load, `events, upgraded from ${UPGRADE_FROM}`)
    const acknowledged = new Set(synchronous)
    const sync: Load = { name: 'sync', sent: synchronous, acknowledged, metering: new Set(), attempts: [] }
    await expectStoredOnce(fleet, sync, `synchronous events, upgraded from ${UPGRADE_FROM}`)

    await earlier.expectMoved()

    const redeemed = answered.redeem ?? 0
    expect(await poolAtRest(fleet, `${pool.id}`, redeemed)).toEqual({
      redemptions: redeemed,
      coupons: redeemed,
      counted: redeemed,
      redeemed,
      events: redeemed,
    })
    const expectCount = async (what: string, sql: string, id: unknown, expected: number | undefined) => {
      const count = async (): Promise<number> => {
        const { rows } = await fleet.db.pool.query<{ count: string }>(sql, [id])
        return Number(rows[0]?.count)
      }
      // The comparison below says more than a timeout would.
      await eventually(what, async () => (await count()) >= (expected ?? 0)).catch(() => {})
      expect([what, await count()]).toEqual([what, expected])
    }
    const { projectId } = fleet
    await expectCount(
      'clicks',
      'SELECT clicks AS count FROM link.counts WHERE link_id = $1',
      link.id,
      answered.redirect,
    )
    await expectCount(
      'exposures',
      'SELECT count(*) FROM decision.exposures WHERE project_id = $1',
      projectId,
      answered.decide,
    )
    await expectCount(
      'emails',
      "SELECT count(*) FROM email.deliveries WHERE project_id = $1 AND status = 'sent'",
      projectId,
      synchronous.length,
    )
    expect(await readdir(`${fleet.env.MAIL_DIR}`)).toHaveLength(synchronous.length)
    const missing = () => [...load.acknowledged, ...synchronous].filter((id) => !delivered.has(id))
    await eventually('every event is delivered', () => missing().length === 0, RECOVERY_MS).catch(() => {})
    expect(missing()).toEqual([])
    const { rows: deadLetters } = await fleet.db.pool.query(
      'SELECT consumer_group, topic, reason FROM ingest.dead_letters LIMIT 5',
    )
    expect(deadLetters).toEqual([])
    for (const read of ['events', 'redemptions', 'links', `coupon-pools/${pool.id}`, 'decisions'])
      expect([read, (await manage(read)).status]).toEqual([read, 200])
    for (const { app, output } of started)
      expect([app, output()]).toEqual([app, expect.not.stringMatching(/permission denied for \w+ \w+/)])
  }, 1_800_000)
})
