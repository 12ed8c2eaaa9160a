import { randomUUID } from 'node:crypto'
import { exposures, topics } from '@waymark/contracts/topics'
import { openDatabase } from '@waymark/database'
import { ensureKafkaTopics } from '@waymark/event-bus'
import { applyIdentify, resolveProfiles } from '@waymark/pipeline'
import { ensureDemoProject } from '@waymark/project-config'
import {
  type CorePlatform,
  distributedPlatform,
  platformConfig,
  readConfig,
  startService,
} from '@waymark/service-kit'
import {
  createMemoryLog,
  createTestDatabase,
  eventually,
  pauseServer,
  requireServices,
  services,
  startKafka,
  startTcpProxy,
  type TcpProxy,
} from '@waymark/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createDecisionService } from '../src/app.ts'

type Answer = { decisions: { variant: string; reason: string }[]; degraded?: true }

describe.skipIf(!services)('decisions while a store is unavailable', () => {
  const stops: (() => Promise<unknown>)[] = []
  let platform: CorePlatform
  /** Starts the service with caches of its own, and returns its platform and port. */
  let start: () => Promise<{ platform: CorePlatform; port: number }>
  let port: number
  let apiKey: string
  let projectId: string
  let postgres: TcpProxy
  let redis: TcpProxy
  let kafka: Awaited<ReturnType<typeof startKafka>>['container']

  /** A proxy before a server, and the server's URL by it. */
  const openProxy = async (url: string): Promise<{ proxy: TcpProxy; url: string }> => {
    const proxy = await startTcpProxy(url)
    stops.push(() => proxy.stop())
    return {
      proxy,
      url: Object.assign(new URL(url), { hostname: 'localhost', port: `${proxy.port}` }).href,
    }
  }
  /** Lets a server answer nothing. Returns the function that ends this. */
  const freeze = (proxy: TcpProxy): (() => Promise<void>) => {
    proxy.freeze()
    return () => proxy.restore()
  }

  beforeAll(async () => {
    const database = await createTestDatabase()
    stops.push(() => database.drop())
    const [pg, cache] = [await openProxy(database.url), await openProxy(requireServices().redisUrl)]
    postgres = pg.proxy
    redis = cache.proxy
    // A broker advertises its address, so the shared one cannot be reached through a proxy.
    const broker = await startKafka()
    kafka = broker.container
    stops.push(() => kafka.stop({ timeout: 0 }))
    const db = openDatabase({ url: pg.url, poolSize: 2, applicationName: 'test', onError: () => {} })
    ;({ apiKey, projectId } = await ensureDemoProject(db))
    await db.close()
    const log = createMemoryLog()
    await ensureKafkaTopics(
      { brokers: broker.brokers, clientId: 'test' },
      topics,
      { partitions: 4, replication: 1 },
      log,
    )
    const scope = {
      onStop: (_name: string, stop: () => Promise<unknown>) => void stops.unshift(stop),
      dispose: async () => {},
    }
    const config = readConfig(platformConfig, {
      DATABASE_URL: pg.url,
      REDIS_URL: cache.url,
      REDIS_KEY_PREFIX: `${randomUUID()}.`,
      KAFKA_BROKERS: broker.brokers.join(','),
      LIMIT_DECIDE_PER_MINUTE: '100000',
    })
    const http = { port: 0, metricsPort: 0, trustedProxies: 0 }
    start = async () => {
      const own = await distributedPlatform(config, { name: 'test', log, scope })
      return { platform: own, ...(await startService(createDecisionService(own), http, own, scope)) }
    }
    ;({ platform, port } = await start())
  })
  afterAll(async () => {
    for (const stop of stops) await stop().catch(() => {})
  })

  const decide = async (person: object, keys?: string[], at = port): Promise<Answer> => {
    const response = await fetch(`http://localhost:${at}/api/v1/decide`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', 'X-API-Key': apiKey },
      body: JSON.stringify({ ...person, keys }),
    })
    expect(response.status).toBe(200)
    return (await response.json()) as Answer
  }
  const addDecision = async (key: string, more: object = {}): Promise<void> => {
    const variants = [
      { key: 'off', value: 0, couponPoolId: null },
      { key: 'on', value: 1, couponPoolId: null },
    ]
    const shares = variants.map((variant) => ({ variant: variant.key, weight: 1 }))
    const rule = { id: 'r', description: null, condition: null, prerequisites: [], rollout: 100 }
    const definition = {
      name: null,
      description: null,
      variants,
      fallbackVariant: 'off',
      rules: [{ ...rule, variant: null, split: shares }],
      holdout: 0,
      frequencyCap: null,
      schedule: null,
      exclusionGroup: null,
      salt: 'salt',
      ...more,
    }
    const { prisma } = platform.db
    await prisma.decision.create({ data: { id: randomUUID(), projectId, key, status: 'active', definition } })
    await prisma.configChange.create({ data: { projectId } })
    await eventually(
      'it is known',
      async () => (await decide({ visitorId: 'x' }, [key])).decisions[0]?.reason !== 'ERROR',
    )
  }
  /** A user whose variant differs from that of their id alone, so that a lost identity would be visible. */
  const someoneWhoLoggedIn = async (key: string): Promise<{ userId: string; variant: string }> => {
    for (;;) {
      const [visitorId, userId] = [randomUUID(), randomUUID()]
      // A busy machine may return degraded answers.
      const of = (person: object) =>
        eventually('an answer that is not degraded', async () => {
          const answer = await decide(person, [key])
          return !answer.degraded && answer.decisions[0]?.variant
        })
      const [variant, byItself] = [await of({ visitorId }), await of({ visitorId: userId })]
      if (variant === byItself) continue
      await resolveProfiles(platform.db.pool, [{ projectId, visitorId, userId: null }])
      const record = {
        v: 1,
        kind: 'identify',
        id: randomUUID(),
        projectId,
        visitorId,
        userId,
        traits: {},
      } as const
      await applyIdentify(platform.db, { ...record, receivedAt: new Date().toISOString() })
      expect(await of({ userId })).toBe(variant)
      return { userId, variant }
    }
  }

  it('decides without Redis, with caps of this process only, and reports it', async () => {
    await addDecision('capped', { frequencyCap: { count: 2, windowSeconds: 600 } })
    const isWhole = async () => !('degraded' in (await decide({ visitorId: randomUUID() }, ['capped'])))
    await eventually('nothing is missing', isWhole)
    const goOn = freeze(redis)
    try {
      const another = randomUUID()
      const reasons: string[] = []
      for (let n = 0; n < 3; n++) {
        const { degraded, decisions } = await decide({ visitorId: another }, ['capped'])
        if (n < 2) expect(degraded).toBe(true)
        reasons.push(decisions[0]?.reason ?? '')
      }
      expect(reasons).toEqual(['SPLIT', 'SPLIT', 'CAPPED'])
    } finally {
      await goOn()
    }
  })

  it('turns a decision off within 5 s in every process, also without Redis', async () => {
    await addDecision('killed')
    const ports = [port, (await start()).port]
    const reasonAt = async (at: number) =>
      (await decide({ visitorId: 'x' }, ['killed'], at)).decisions[0]?.reason
    // A busy machine may return degraded answers.
    for (const at of ports) await eventually('it is decided', async () => (await reasonAt(at)) === 'SPLIT')
    const goOn = freeze(redis)
    try {
      // What the pause of the management API writes.
      const { prisma } = platform.db
      const change = { status: 'paused', version: { increment: 1 } }
      await prisma.$transaction([
        prisma.decision.update({ where: { projectId_key: { projectId, key: 'killed' } }, data: change }),
        prisma.configChange.create({ data: { projectId } }),
      ])
      await Promise.all(
        ports.map((at) => eventually('it is off', async () => (await reasonAt(at)) === 'DISABLED')),
      )
      expect(await decide({ visitorId: 'x' }, ['killed'])).toMatchObject({ decisions: [{ variant: 'off' }] })
    } finally {
      await goOn()
    }
  })

  it('decides without Kafka, and publishes exposures later', async () => {
    await addDecision('shown')
    const goOn = await pauseServer(kafka)
    try {
      const visitorId = randomUUID()
      expect(await decide({ visitorId }, ['shown'])).toMatchObject({ decisions: [{ reason: 'SPLIT' }] })
      const spooled = async () => {
        const { rows } = await platform.db.pool.query<{ value: string }>(
          'SELECT value FROM ingest.outbox WHERE topic = $1',
          [exposures.name],
        )
        return rows.some(({ value }) => value.includes(visitorId))
      }
      await eventually('it lies in the outbox', spooled)
    } finally {
      await goOn()
    }
  })

  it('decides without PostgreSQL with unchanged variants, and reports it', async () => {
    await addDecision('kept')
    const { userId, variant } = await someoneWhoLoggedIn('kept')
    const goOn = freeze(postgres)
    try {
      const known = await eventually('what was read is too old', async () => {
        const answer = await decide({ userId }, ['kept'])
        expect(answer.decisions).toMatchObject([{ variant, reason: 'SPLIT' }])
        return answer.degraded && answer
      })
      expect(known.degraded).toBe(true)
      const stranger = await decide({ visitorId: randomUUID() }, ['kept'])
      expect(stranger).toMatchObject({ degraded: true, decisions: [{ reason: 'SPLIT' }] })
    } finally {
      await goOn()
    }
    await eventually('all is well again', async () => !(await decide({ userId }, ['kept'])).degraded)
    expect(await decide({ userId }, ['kept'])).toMatchObject({ decisions: [{ variant }] })
  })
})
