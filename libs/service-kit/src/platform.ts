import type { Analytics } from '@waymark/analytics'
import { createPostgresAnalytics } from '@waymark/analytics'
import { type Cache, createMemoryCache, createRedisCache } from '@waymark/cache'
import type { Log } from '@waymark/contracts'
import { type Database, openDatabase, requireMigrated } from '@waymark/database'
import { createKafkaEventBus, type EventBus, openEmbeddedEventBus } from '@waymark/event-bus'
import { type ApiKeys, createApiKeys } from '@waymark/project-config'
import { Registry } from 'prom-client'
import type { PlatformConfig } from './platform-config.ts'
import type { Scope } from './scope.ts'

/** What every app is given to stand on; which parts are behind it, only composition roots know. */
export type Platform = {
  db: Database
  bus: EventBus
  cache: Cache
  analytics: Analytics
  apiKeys: ApiKeys
  /** Now, in ms since the epoch. */
  clock: () => number
  log: Log
  metrics: Registry
}

/** What composition roots know of the process: its name, for logs and connections, and where it logs to. */
export type PlatformContext = { name: string; log: Log; scope: Scope }

const openStores = (url: string, poolSize: number, { name, log, scope }: PlatformContext): Database => {
  const db = openDatabase({
    url,
    poolSize,
    applicationName: `waymark-${name}`,
    onError: (error) => log.warn({ err: error }, 'an idle database connection was lost'),
  })
  scope.onStop('database', () => db.close())
  return db
}

const assemble = (db: Database, bus: EventBus, cache: Cache, log: Log): Platform => {
  const clock = Date.now
  return {
    db,
    bus,
    cache,
    analytics: createPostgresAnalytics(db.pool),
    apiKeys: createApiKeys({ pool: db.pool, cache, log, now: clock }),
    clock,
    log,
    metrics: new Registry(),
  }
}

/** Kafka, PostgreSQL and Redis, each reached over the network. */
export const distributedPlatform = async (
  config: PlatformConfig,
  context: PlatformContext,
): Promise<Platform> => {
  const { name, log, scope } = context
  const db = openStores(config.database.url, config.database.poolSize, context)
  const cache = createRedisCache({ url: config.redis.url, keyPrefix: config.redis.keyPrefix }, log)
  scope.onStop('redis', () => cache.close())
  const bus = createKafkaEventBus({ ...config.kafka, clientId: `waymark-${name}` }, log)
  scope.onStop('kafka', () => bus.close())
  await requireMigrated(db.pool)
  return assemble(db, bus, cache, log)
}

/** One PostgreSQL that this process has to itself, its log in place of Kafka, memory in place of Redis. */
export const embeddedPlatform = async (databaseUrl: string, context: PlatformContext): Promise<Platform> => {
  const { log, scope } = context
  const db = openStores(databaseUrl, 20, context)
  const bus = await openEmbeddedEventBus({ databaseUrl, pool: db.pool }, log)
  scope.onStop('log', () => bus.close())
  return assemble(db, bus, createMemoryCache(), log)
}
