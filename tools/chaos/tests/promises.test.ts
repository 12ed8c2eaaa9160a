import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  eventually,
  extent,
  freePort,
  requireServices,
  services,
  startKafka,
  startTcpProxy,
  type TcpProxy,
} from '@waymark/testing'
import { v7 as uuidv7 } from 'uuid'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { expectStoredOnce } from './audit.ts'
import { createPool, poolAtRest } from './coupons.ts'
import { RECOVERY_MS } from './durations.ts'
import { createFleet, type Fleet, METERED, type Replica } from './fleet.ts'
import { openKafka } from './kafka-admin.ts'
import { type Load, startLoad } from './load.ts'
import { describeOddInput } from './odd-input.ts'
import { writePoison } from './poison.ts'
import { type Services, startProbes, startServices, unexplained } from './probes.ts'

// One short test for each guarantee of docs/reliability.md, all on one fleet. The other files of this folder test them
// at length, in `npm run test:chaos`, which also runs the faults and kills that `npm test` leaves out here.

type StoreName = 'kafka' | 'postgres' | 'redis' | 'clickhouse'

/** How long a test may take on a busy machine, in ms. On a quiet one, each takes less than 20 s. */
const TIMEOUT_MS = 300_000
/** Some probes hash a password, which takes the processor from the others. */
const PROBE_PAUSE_MS = 1_500
/** The pause of a client after each answer. Without it, clients would take the processor from what they ask. */
const CLIENT_PAUSE_MS = 50
const HOUR_MS = 60 * 60 * 1000
const BROWSER = { 'User-Agent': 'Mozilla/5.0 (X11; Linux x86_64) Chrome/126.0.0.0 Safari/537.36' }

/** The settings of every process, such as a clock that SIGUSR2 moves. */
const SETTINGS = {
  KAFKA_PARTITIONS: '3',
  NODE_OPTIONS: `--import ${path.resolve(import.meta.dirname, 'skewed-clock.mjs')}`,
  CLOCK_JUMP_MS: `${-HOUR_MS}`,
  WEBHOOK_ALLOW_PRIVATE_ADDRESSES: 'true',
  // Deliveries whose claim was not answered, because the connection was cut, wait for a lease that grows with it.
  WEBHOOK_TIMEOUT_MS: '2000',
}

/** A stop waits for clients to notice, which takes them seconds on a busy machine. */
const DRAINING = { DRAIN_MS: '10000' }

const json = (body: object): RequestInit => ({
  method: 'POST',
  headers: { 'Content-Type': 'application/json' },
  body: JSON.stringify(body),
})

/** The same address by a proxy. */
const through = ({ port }: TcpProxy, url: string): string =>
  Object.assign(new URL(url), { hostname: 'localhost', port: `${port}` }).href

describe.skipIf(!services)('every acknowledged event is stored exactly once', () => {
  let fleet: Fleet
  let proxies: Record<StoreName, TcpProxy>
  let pipeline: Awaited<ReturnType<Fleet['startPipeline']>>
  let all: Services
  let receiver: Server
  /** The `webhook-id` of each request, by the event that it delivered. */
  const delivered = new Map<string, Set<string>>()
  const stops: (() => Promise<unknown>)[] = []

  const startReceiver = async (): Promise<string> => {
    receiver = createServer(async (request, response) => {
      const { data } = JSON.parse((await request.toArray()).join('')) as { data: { eventId: string } }
      const ids = delivered.get(data.eventId) ?? new Set()
      delivered.set(data.eventId, ids.add(`${request.headers['webhook-id']}`))
      response.end()
    })
    await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve))
    stops.push(async () => {
      receiver.closeAllConnections()
      receiver.close()
    })
    return `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/hook`
  }
  const createRows = async (hook: string): Promise<void> => {
    const { prisma } = fleet.db
    await prisma.webhook.create({
      data: {
        id: uuidv7(),
        projectId: fleet.projectId,
        topics: ['event'],
        eventNames: [METERED],
        status: 'active',
        secret: 'whsec_YSBzZWNyZXQgb2YgdGhpcnR5LXR3byBjaGFyYWN0ZXJz',
        activatedAt: new Date(0),
        url: hook,
      },
    })
    await prisma.shortLink.create({
      data: {
        id: uuidv7(),
        projectId: fleet.projectId,
        code: 'promised',
        status: 'active',
        tags: [],
        destination: 'https://shop.example/',
      },
    })
  }

  beforeAll(async () => {
    const shared = requireServices()
    // The proxy and the broker must know each other's port before the broker starts.
    const port = await freePort()
    proxies = {
      kafka: await startTcpProxy(`tcp://localhost:${port}`),
      postgres: await startTcpProxy(shared.postgresUrl),
      redis: await startTcpProxy(shared.redisUrl),
      clickhouse: await startTcpProxy(shared.clickhouseUrl),
    }
    for (const proxy of Object.values(proxies)) stops.unshift(() => proxy.stop())
    // A broker advertises its address, so the shared one cannot be reached through a proxy.
    const kafka = await startKafka({ port, advertisedPort: proxies.kafka.port })
    stops.unshift(() => kafka.container.stop({ timeout: 0 }))
    const hook = await startReceiver()
    fleet = await createFleet({ ...shared, kafkaBrokers: kafka.brokers }, SETTINGS)
    stops.unshift(() => fleet.stop())
    await createRows(hook)
    const proxied = {
      DATABASE_URL: through(proxies.postgres, fleet.env.DATABASE_URL),
      REDIS_URL: through(proxies.redis, shared.redisUrl),
      CLICKHOUSE_URL: through(proxies.clickhouse, shared.clickhouseUrl),
    }
    pipeline = await fleet.startPipeline(proxied, DRAINING)
    all = await startServices(fleet, pipeline.gateway, { ...proxied, ...DRAINING })
    await Promise.all([fleet.start('email-consumer', proxied), fleet.start('webhook-dispatcher', proxied)])
  })
  afterAll(async () => {
    for (const stop of stops) await stop()
  })

  const start = (name: string) =>
    startLoad({ name, send: pipeline.gateway.request, pauseMs: 25, retryMs: 500 })
  const conversionsOf = (load: Load): string[] => [...load.acknowledged].filter((id) => load.metering.has(id))
  /** Waits until that many more events other than conversions are acknowledged. */
  const untilAcknowledged = async (load: Load, count: number): Promise<void> => {
    const others = () => load.acknowledged.size - conversionsOf(load).length
    const before = others()
    await eventually(`${count} more events are acknowledged`, () => others() >= before + count, RECOVERY_MS)
  }
  const untilAllAcknowledged = async (load: Load): Promise<void> => {
    const before = conversionsOf(load).length
    await untilAcknowledged(load, 50)
    await eventually(
      '10 more conversions are acknowledged',
      () => conversionsOf(load).length >= before + 10,
      RECOVERY_MS,
    )
  }
  const refused = (load: Load) => load.attempts.filter(({ status }) => status === 503)
  const visit = (): Promise<Response> =>
    all.redirector.request('/s/promised', { headers: BROWSER, redirect: 'manual' })
  const decide = (visitorId: string): Promise<Response> =>
    all.decisions.request('/api/v1/decide', json({ visitorId, keys: ['none'] }))
  /** Expects every conversion at the webhook, and repetitions with the same `webhook-id`. */
  const expectDelivered = async (load: Load): Promise<void> => {
    const conversions = conversionsOf(load)
    await eventually(
      'every conversion is delivered',
      () => conversions.every((id) => delivered.has(id)),
      RECOVERY_MS,
    )
    expect(conversions.filter((id) => delivered.get(id)?.size !== 1)).toEqual([])
  }

  describe('when input is odd', () => {
    describeOddInput(() => ({ fleet, gateway: pipeline.gateway }))
  })

  describe('when a store fails', () => {
    type Fault = {
      stores: readonly StoreName[]
      way: 'cut' | 'freeze'
      /** Waits, while the stores are away, for what must go on and for what must be refused. */
      meanwhile: (load: Load) => Promise<unknown>
    }
    const untilRefused = (load: Load) =>
      eventually('events are refused', () => refused(load).length >= 4, RECOVERY_MS)
    const faults: Record<string, Fault> = {
      'Kafka refuses connections: events go to the outbox, and conversions get 503': {
        stores: ['kafka'],
        way: 'cut',
        meanwhile: async (load) => {
          await untilAcknowledged(load, 50)
          const isRefused = () => refused(load).some(({ metering }) => metering)
          await eventually('conversions are refused', isRefused, RECOVERY_MS)
        },
      },
      'PostgreSQL keeps connections open without answers: events, decisions and redirects go on': {
        stores: ['postgres'],
        way: 'freeze',
        meanwhile: async (load) => {
          await untilAcknowledged(load, 50)
          for (let n = 0; n < 5; n++) {
            expect((await decide('known')).status).toBe(200)
            expect((await visit()).status).toBe(302)
          }
        },
      },
      'Redis keeps connections open without answers: every event goes on': {
        stores: ['redis'],
        way: 'freeze',
        meanwhile: untilAllAcknowledged,
      },
      'Kafka and PostgreSQL refuse connections: events get 503 until one is back': {
        stores: ['kafka', 'postgres'],
        way: 'cut',
        meanwhile: untilRefused,
      },
      'ClickHouse refuses connections: every event goes on': {
        stores: ['clickhouse'],
        way: 'cut',
        meanwhile: untilAllAcknowledged,
      },
    }
    const furtherFaults: Record<string, Fault> = {
      'Kafka keeps connections open without answers: events go to the outbox': {
        stores: ['kafka'],
        way: 'freeze',
        meanwhile: (load) => untilAcknowledged(load, 50),
      },
      'PostgreSQL refuses connections: events go to Kafka': {
        stores: ['postgres'],
        way: 'cut',
        meanwhile: (load) => untilAcknowledged(load, 50),
      },
    }
    it.each(Object.entries(extent(faults, { ...faults, ...furtherFaults })))(
      '%s',
      async (name, { stores, way, meanwhile }) => {
        const { load, stop } = start(`${stores.join('-')}-${way}`)
        const probes = await startProbes(fleet, all, PROBE_PAUSE_MS)
        expect((await decide('known')).status).toBe(200)
        expect((await visit()).status).toBe(302)
        await untilAcknowledged(load, 20)
        for (const store of stores) await proxies[store][way]()
        await meanwhile(load)
        // In another order than they were stopped.
        for (const store of stores.toReversed()) await proxies[store].restore()
        await eventually('every kind of request succeeds again', probes.areWell, RECOVERY_MS)
        const answers = await probes.stop()
        await stop()
        await expectStoredOnce(fleet, load, name)
        await expectDelivered(load)
        if (unexplained(answers).length > 0) process.stdout.write(fleet.lastWords())
        expect(unexplained(answers)).toEqual([])
        const others = load.attempts.filter(({ status }) => status !== 202 && status !== 503)
        expect(others).toEqual([])
      },
      TIMEOUT_MS,
    )

    it(
      'a synchronous event gets 503 while ClickHouse is away, and can be repeated',
      async () => {
        const sync = startLoad({
          name: 'sync',
          send: (resource, init) => all.gateway.request(`${resource}?sync=1`, init),
          retryMs: 500,
          pauseMs: 25,
        })
        await untilAcknowledged(sync.load, 5)
        await proxies.clickhouse.cut()
        await eventually('events are refused', () => refused(sync.load).length >= 2, RECOVERY_MS)
        await proxies.clickhouse.restore()
        await sync.stop()
        const expected = [200, 202, 503]
        expect(sync.load.attempts.filter(({ status }) => !expected.includes(Number(status)))).toEqual([])
        await expectStoredOnce(fleet, sync.load, 'synchronous events while ClickHouse was away')
      },
      TIMEOUT_MS,
    )
  })

  describe('when a record is delivered again', () => {
    const countRecords = async (): Promise<number> => {
      const kafka = await openKafka(fleet)
      const ends = await kafka.ends('ingest.records.v1')
      await kafka.close()
      return [...ends.values()].reduce((sum, end) => sum + Number(end), 0)
    }

    it(
      'because Kafka stored it and its acknowledgement was lost',
      async () => {
        const before = await countRecords()
        const { load, stop } = start('unacknowledged')
        await untilAcknowledged(load, 20)
        proxies.kafka.swallowAnswers()
        await untilAcknowledged(load, 20)
        await proxies.kafka.restore()
        await stop()
        await expectStoredOnce(fleet, load, 'acknowledgements of Kafka dropped')
        // Otherwise the test would prove nothing.
        expect(await countRecords()).toBeGreaterThan(before + load.sent.length)
      },
      TIMEOUT_MS,
    )

    it(
      'because a producer or a consumer repeats everything',
      async () => {
        const { load, stop } = start('again')
        await untilAcknowledged(load, 50)
        await stop()
        await expectStoredOnce(fleet, load, 'before every record is produced again')
        const kafka = await openKafka(fleet)
        const records = await kafka.readAll('ingest.records.v1')
        expect(records.length).toBeGreaterThanOrEqual(50)
        await kafka.produce('ingest.records.v1', records)
        for (const [group, topic] of [
          ['enrichment', 'ingest.records.v1'],
          ['persistence', 'events.enriched.v1'],
        ] as const)
          await eventually(
            `${group} is through`,
            async () => (await kafka.lag(group, topic)) === 0,
            RECOVERY_MS,
          )
        await kafka.close()
        await expectStoredOnce(fleet, load, `${records.length} records produced again`)
      },
      TIMEOUT_MS,
    )

    it(
      'behind records that cannot be processed, which become dead letters',
      async () => {
        const { load, stop } = start('poisoned')
        const kinds = ['not JSON', 'no value', 'an unknown version', 'JSON that is nested 100,000 times']
        const expectDeadLetters = await writePoison(fleet, { partitions: 1, kinds })
        await untilAcknowledged(load, 20)
        await stop()
        await expectStoredOnce(fleet, load, 'behind invalid records')
        await expectDeadLetters()
      },
      TIMEOUT_MS,
    )
  })

  describe('when a process is killed under load', () => {
    it.each(
      extent(
        ['gateway', 'persistence'],
        ['gateway', 'persistence', 'enrichment'],
      ) as (keyof typeof pipeline)[],
    )(
      '%s',
      async (name) => {
        const { load, stop } = start(`killed-${name}`)
        await untilAcknowledged(load, 20)
        await pipeline[name].kill()
        await pipeline[name].restart()
        await untilAcknowledged(load, 20)
        await stop()
        await expectStoredOnce(fleet, load, `${name} killed under load`)
      },
      TIMEOUT_MS,
    )

    it(
      'coupon-service redeems each code once, when requests are repeated with their key',
      async () => {
        const { id, codes } = await createPool(fleet, { size: 60 })
        let redeemed = 0
        const redeem = async (code: string): Promise<void> => {
          const init = json({ code, userId: `user of ${code}` })
          const headers = { 'Content-Type': 'application/json', 'Idempotency-Key': code }
          const request = () =>
            all.coupons.request('/api/v1/coupons/redeem', { ...init, headers }).then(
              ({ status }) => status,
              () => 0,
            )
          for (let status = await request(); status !== 200; status = await request()) {
            expect([0, 503]).toContain(status)
            await sleep(100)
          }
          redeemed++
        }
        const client = async (own: readonly string[]): Promise<void> => {
          for (const code of own) await redeem(code)
        }
        const clients = [0, 20, 40].map((first) => client(codes.slice(first, first + 20)))
        await eventually('some are redeemed', () => redeemed >= 10)
        await all.coupons.kill()
        await all.coupons.restart()
        await Promise.all(clients)
        expect(await poolAtRest(fleet, id, codes.length)).toMatchObject({
          redemptions: codes.length,
          coupons: codes.length,
          counted: codes.length,
          redeemed: codes.length,
        })
      },
      TIMEOUT_MS,
    )

    it(
      'link-redirector stores each click once, except those of its last moments',
      async () => {
        const linkId = uuidv7()
        await fleet.db.prisma.shortLink.create({
          data: {
            id: linkId,
            projectId: fleet.projectId,
            code: 'killed',
            status: 'active',
            tags: [],
            destination: 'https://shop.example/',
          },
        })
        const click = async (): Promise<string> => {
          const response = await all.redirector.request('/s/killed', { headers: BROWSER, redirect: 'manual' })
          expect(response.status).toBe(302)
          return new URL(response.headers.get('Location') ?? '').searchParams.get('wm_click') ?? ''
        }
        const clickTimes = (count: number) => Promise.all(Array.from({ length: count }, click))
        const stored = async (): Promise<string[]> => {
          const { rows } = await fleet.db.pool.query<{ id: string }>(
            'SELECT id FROM link.clicks WHERE link_id = $1',
            [linkId],
          )
          return rows.map(({ id }) => id)
        }
        const untilStored = (ids: readonly string[]) =>
          eventually('the clicks are stored', async () => {
            const found = new Set(await stored())
            return ids.every((id) => found.has(id))
          })
        const before = await clickTimes(20)
        await untilStored(before)
        const atRisk = await clickTimes(20)
        await all.redirector.kill()
        await all.redirector.restart()
        const after = await clickTimes(20)
        await untilStored(after)
        const found = await stored()
        const sent = new Set([...before, ...atRisk, ...after])
        expect(found.filter((id) => !sent.has(id))).toEqual([])
        expect(new Set(found).size).toBe(found.length)
        const [count] = await fleet.db.prisma.linkCount.findMany({ where: { linkId } })
        expect(Number(count?.clicks)).toBe(found.length)
      },
      TIMEOUT_MS,
    )
  })

  describe('when a process is stopped by SIGTERM under load', () => {
    const isReady = async ({ request }: Replica): Promise<boolean> => (await request('/readyz')).ok

    it(
      'fails no request until its clients have noticed, and exits with 0',
      async () => {
        const { codes } = await createPool(fleet, { size: 5_000 })
        const cases: [Replica, (n: number) => Promise<Response>, number][] = [
          [
            all.gateway,
            (n) => all.gateway.request('/api/v1/t', json({ eventName: 'e', visitorId: `v${n}` })),
            202,
          ],
          [all.redirector, visit, 302],
          [
            all.coupons,
            () => all.coupons.request('/api/v1/coupons/redeem', json({ code: codes.pop(), userId: 'u' })),
            200,
          ],
          [all.decisions, (n) => decide(`v${n}`), 200],
          [all.management, () => all.management.request(`/api/projects/${fleet.projectId}/events`), 200],
        ]
        const stopUnderLoad = async ([replica, ask, expected]: (typeof cases)[number]): Promise<void> => {
          const answers: (number | string)[] = []
          let going = true
          const client = async (): Promise<void> => {
            for (let n = 0; going; n++) {
              const answer = await ask(n).then(
                async (response) => {
                  await response.text()
                  return response.status
                },
                (error: Error) => error.message,
              )
              answers.push(answer)
              await sleep(CLIENT_PAUSE_MS)
            }
          }
          const clients = [client(), client(), client()]
          await eventually('requests are answered', () => answers.length >= 20)
          const ended = replica.terminate()
          await eventually('clients notice', async () => !(await isReady(replica)))
          going = false
          await Promise.all(clients)
          const { exitCode } = await ended
          const failed = answers.filter((answer) => answer !== expected)
          expect({ app: replica.app, failed, exitCode }).toEqual({
            app: replica.app,
            failed: [],
            exitCode: 0,
          })
        }
        await Promise.all(cases.map(stopUnderLoad))
        // The tests below need no other.
        await all.gateway.restart()
      },
      TIMEOUT_MS,
    )

    it(
      'commits what it has processed: the consumers',
      async () => {
        const kafka = await openKafka(fleet)
        const { load, stop } = start('terminated')
        await untilAcknowledged(load, 50)
        for (const replica of [pipeline.enrichment, pipeline.persistence])
          expect(await replica.terminate()).toMatchObject({ exitCode: 0 })
        await Promise.all([pipeline.enrichment.restart(), pipeline.persistence.restart()])
        await stop()
        await expectStoredOnce(fleet, load, 'the consumers stopped under load')
        await eventually(
          'all is committed',
          async () => (await kafka.lag('persistence', 'events.enriched.v1')) === 0,
          RECOVERY_MS,
        )
        await kafka.close()
      },
      TIMEOUT_MS,
    )
  })

  it(
    'when the clocks of the pipeline jump an hour back',
    async () => {
      const { load, stop } = start('jumped')
      await untilAcknowledged(load, 20)
      for (const { pid } of Object.values(pipeline)) process.kill(pid, 'SIGUSR2')
      await untilAcknowledged(load, 50)
      await stop()
      await expectStoredOnce(fleet, load, 'the clocks of the pipeline jump an hour back')
      for (const replica of Object.values(pipeline)) expect(replica.isAlive()).toBe(true)
    },
    TIMEOUT_MS,
  )
})
