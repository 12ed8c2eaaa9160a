import { randomBytes } from 'node:crypto'
import { linkClicks, topics } from '@waymark/contracts/topics'
import { type Database, openDatabase } from '@waymark/database'
import { ensureKafkaTopics } from '@waymark/event-bus'
import { cacheUserAgents, createOutboxRelay, storeClicks } from '@waymark/pipeline'
import {
  type CorePlatform,
  distributedPlatform,
  everyMs,
  platformConfig,
  readConfig,
  type Scope,
  startLoop,
  startService,
} from '@waymark/service-kit'
import { createMemoryLog, createTestDatabase, requireServices } from '@waymark/testing'
import { v7 as uuidv7 } from 'uuid'
import { createLinkRedirector } from '../src/app.ts'

/** User agents of a person on a phone, one at a desk, and a search engine. */
export const PHONE =
  'Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.5 Mobile/15E148 Safari/604.1'
export const DESKTOP =
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36'
export const BOT = 'Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)'

/** The addresses of a redirector's servers; a test may use a proxy. */
export type World = {
  db: Database
  projectId: string
  databaseUrl: string
  redisUrl: string
  kafkaBrokers: string[]
  prefix: string
  stop(): Promise<void>
}

/** A new database with a project, and separate topics. */
export const createWorld = async (
  kafkaBrokers: string[] = requireServices().kafkaBrokers,
): Promise<World> => {
  const database = await createTestDatabase()
  const prefix = `t${randomBytes(5).toString('hex')}.`
  await ensureKafkaTopics(
    { brokers: kafkaBrokers, clientId: 'test', topicPrefix: prefix },
    topics,
    { partitions: 2, replication: 1 },
    createMemoryLog(),
  )
  const db = openDatabase({ url: database.url, poolSize: 3, applicationName: 'test', onError: () => {} })
  const projectId = uuidv7()
  await db.prisma.project.create({
    data: { id: projectId, name: 'p', tenant: { create: { id: uuidv7(), name: 't' } } },
  })
  return {
    db,
    projectId,
    databaseUrl: database.url,
    redisUrl: requireServices().redisUrl,
    kafkaBrokers,
    prefix,
    stop: async () => {
      await db.close()
      await database.drop()
    },
  }
}

export type Redirector = {
  get(path: string, init?: RequestInit): Promise<Response>
  platform: CorePlatform
  stop(): Promise<void>
}

/**
 * For tests without an outage of Redis: a busy machine stops for longer than the default, and a process then counts for
 * itself.
 */
const REDIS_TIMEOUT_MS = 10_000
const RELAY_PAUSE_MS = 200

/** A redirector with separate connections and memory, like a separate process. */
export const startRedirector = async (
  { databaseUrl, redisUrl, kafkaBrokers, prefix }: World,
  countryOf?: (ip: string) => string | null,
  clock: () => number = Date.now,
  redisTimeoutMs?: number,
): Promise<Redirector> => {
  const log = createMemoryLog()
  const disposals: (() => Promise<unknown>)[] = []
  const scope: Scope = {
    onStop: (_name, dispose) => void disposals.push(dispose),
    dispose: async () => {
      for (const dispose of disposals.splice(0).reverse()) await dispose()
    },
  }
  const own = await distributedPlatform(
    readConfig(platformConfig, {
      DATABASE_URL: databaseUrl,
      DATABASE_POOL_SIZE: '5',
      REDIS_URL: redisUrl,
      REDIS_KEY_PREFIX: prefix,
      KAFKA_BROKERS: kafkaBrokers.join(','),
      KAFKA_TOPIC_PREFIX: prefix,
      KAFKA_COMPRESSION: 'none',
      KAFKA_SESSION_TIMEOUT_MS: '6000',
      KAFKA_PARTITIONS_AT_ONCE: '2',
    }),
    { name: 'test', log, scope, ...(redisTimeoutMs !== undefined && { redisTimeoutMs }) },
  )
  const platform = { ...own, clock }
  const service = createLinkRedirector(platform, countryOf ? { countryOf } : {})
  const { port } = await startService(
    service,
    { port: 0, metricsPort: 0, trustedProxies: 1 },
    platform,
    scope,
  )
  return {
    get: (path, init = {}) => fetch(`http://localhost:${port}${path}`, { redirect: 'manual', ...init }),
    platform,
    stop: () => scope.dispose(),
  }
}

/**
 * Stores what the redirectors recorded, like persistence-consumer, also what they spooled because a busy broker answered
 * late.
 */
export const startStoringClicks = async ({
  bus,
  db,
  log,
}: CorePlatform): Promise<{ stop(): Promise<void> }> => {
  const describeUserAgent = cacheUserAgents()
  const consumer = bus.subscribe({
    group: 'clicks',
    topic: linkClicks,
    handle: async (batch) => {
      await storeClicks(
        db.pool,
        batch.map(({ value }) => value),
        describeUserAgent,
      )
      return undefined
    },
  })
  await consumer.start()
  const relay = createOutboxRelay({ db, bus, log })
  const relaying = startLoop(everyMs('relay', RELAY_PAUSE_MS, relay), log)
  return {
    stop: async () => {
      await relaying.stop()
      await consumer.stop()
    },
  }
}

/** Two redirectors of one world, the first of which also stores clicks. */
export const startRedirectors = async (countryOf?: (ip: string) => string | null) => {
  const world = await createWorld()
  const start = () => startRedirector(world, countryOf, Date.now, REDIS_TIMEOUT_MS)
  const [here, there] = [await start(), await start()]
  const storing = await startStoringClicks(here.platform)
  return {
    world,
    here,
    there,
    stop: async () => {
      await storing.stop()
      await here.stop()
      await there.stop()
      await world.stop()
    },
  }
}

type Link = {
  code: string
  domainId: string
  destination: string
  expiredUrl: string
  status: string
  startsAt: Date
  expiresAt: Date
  clickLimit: number
  forwardQuery: boolean
  passwordHash: string
  og: object
  variants: object[]
  variantKeys: string[]
  utm: object
  targets: object[]
}

/** Inserts a link into the database. */
export const addLink = async (
  { db, projectId }: World,
  { utm = {}, targets = [], ...link }: Partial<Link> = {},
): Promise<{ id: string; code: string }> => {
  const code = link.code ?? randomBytes(5).toString('hex')
  const destination = link.destination ?? 'https://shop.example/'
  const id = uuidv7()
  await db.prisma.shortLink.create({
    data: { id, projectId, ...link, code, destination, utm, targets, tags: [] },
  })
  return { id, code }
}

/** Changes a link like management-api. */
export const changeLink = async ({ db }: World, id: string, set: string): Promise<void> => {
  await db.pool.query(`UPDATE link.links SET ${set}, updated_at = clock_timestamp() WHERE id = '${id}'`)
}
