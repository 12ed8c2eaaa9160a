import { linkCopyKey } from '@waymark/pipeline'
import {
  eventually,
  freePort,
  requireServices,
  services,
  startKafka,
  startTcpProxy,
  type TcpProxy,
  untilAvailable,
} from '@waymark/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  addLink,
  createWorld,
  DESKTOP,
  type Redirector,
  startRedirector,
  startStoringClicks,
  type World,
} from './redirector.ts'

const doorTo = async (url: string): Promise<{ door: TcpProxy; url: string }> => {
  const target = new URL(url)
  const door = await startTcpProxy(url)
  target.host = `localhost:${door.port}`
  return { door, url: target.href }
}

describe.skipIf(!services)('a redirector during an outage', () => {
  let world: World
  let broker: Awaited<ReturnType<typeof startKafka>>
  let kafka: TcpProxy
  let postgres: TcpProxy
  let redis: TcpProxy
  let redirector: Redirector
  let store: Redirector
  let storing: { stop(): Promise<void> }

  beforeAll(async () => {
    // The proxy and the broker must know each other's port before the broker starts.
    const port = await freePort()
    kafka = await startTcpProxy(`tcp://localhost:${port}`)
    broker = await startKafka({ port, advertisedPort: kafka.port })
    world = await createWorld(broker.brokers)
    const throughPostgres = await doorTo(world.databaseUrl)
    const throughRedis = await doorTo(requireServices().redisUrl)
    postgres = throughPostgres.door
    redis = throughRedis.door
    redirector = await startRedirector({
      ...world,
      databaseUrl: throughPostgres.url,
      redisUrl: throughRedis.url,
    })
    store = await startRedirector(world)
    storing = await startStoringClicks(store.platform)
  })
  afterAll(async () => {
    await redirector?.stop()
    await storing?.stop()
    await store?.stop()
    await world?.stop()
    await Promise.all([postgres, redis, kafka].map((proxy) => proxy?.stop()))
    await broker?.container.stop({ timeout: 0 })
  })

  const visit = async (code: string, times = 50): Promise<void> => {
    for (let n = 0; n < times; n++) {
      const response = await redirector.get(`/s/${code}`, { headers: { 'User-Agent': DESKTOP } })
      expect(response.status).toBe(302)
    }
  }
  /** The first visit, which reads the link from a store: 503 is no fault on a busy machine. */
  const visitFirst = async (code: string): Promise<void> => {
    const headers = { 'User-Agent': DESKTOP }
    expect((await untilAvailable(() => redirector.get(`/s/${code}`, { headers }))).status).toBe(302)
  }
  const storedOf = (linkId: string) => world.db.prisma.linkClick.count({ where: { linkId } })
  const allStored = (linkId: string, count: number) =>
    eventually(`${count} clicks are stored`, async () => (await storedOf(linkId)) === count)

  it.each(['cut', 'freeze'] as const)(
    'uses its memory without PostgreSQL and Redis (%s), and loses no click',
    async (how) => {
      const { id, code } = await addLink(world)
      const cold = await addLink(world)
      await visitFirst(code)
      await visit(code, 49)
      await postgres[how]()
      await redis[how]()
      await visit(code, 100)
      const unknown = await redirector.get(`/s/${cold.code}`)
      expect(unknown.status).toBe(503)
      expect(await unknown.json()).toMatchObject({ retryAfter: expect.any(Number) })
      // The outage has been detected by now.
      await visit(code, 100)
      await postgres.restore()
      await redis.restore()
      await eventually(
        'the other link can be followed',
        async () => (await redirector.get(`/s/${cold.code}`)).status === 302,
      )
      await allStored(id, 250)
    },
  )

  it('uses the shared copy without PostgreSQL, also for links that it never read', async () => {
    const { code } = await addLink(world)
    expect((await untilAvailable(() => store.get(`/s/${code}`))).status).toBe(302)
    await eventually('there is a copy that it can see', () =>
      redirector.platform.cache.get(linkCopyKey(code)),
    )
    await postgres.cut()
    try {
      await visitFirst(code)
    } finally {
      await postgres.restore()
    }
  })

  it('keeps clicks without Kafka, and stores each once', async () => {
    const { id, code } = await addLink(world)
    await visitFirst(code)
    await visit(code, 49)
    await kafka.cut()
    await visit(code, 300)
    const areSpooled = async () => {
      const { rows } = await world.db.pool.query(`SELECT 1 FROM ingest.outbox WHERE lane = 'click-spool'`)
      return rows.length > 0
    }
    await eventually('they are spooled', areSpooled)
    await kafka.restore()
    await visit(code)
    await eventually('the spool is relayed', async () => !(await areSpooled()))
    await allStored(id, 400)
    const counts = await world.db.prisma.linkCount.findUniqueOrThrow({ where: { linkId: id } })
    expect(counts.clicks).toBe(400n)
  })

  it('publishes its clicks before it stops', async () => {
    const { id, code } = await addLink(world)
    await visitFirst(code)
    await visit(code, 199)
    await redirector.stop()
    await allStored(id, 200)
  })
})
