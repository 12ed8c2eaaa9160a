import type { Tracer } from '@opentelemetry/api'
import type { Analytics } from '@waymark/analytics'
import { createPostgresAnalytics } from '@waymark/analytics'
import {
  type Cache,
  createLocallyCountingRateLimiter,
  createMemoryCache,
  createMemoryRateLimiter,
  createMemoryTotals,
  createRedisCache,
  createRedisTotals,
  createSharedRateLimiter,
  openRedisCounter,
  type RateLimiter,
  type SharedTotals,
} from '@waymark/cache'
import type { Log } from '@waymark/contracts'
import { type Database, openDatabase, requireMigrated } from '@waymark/database'
import type { Locate } from '@waymark/domain'
import { createKafkaEventBus, type EventBus, openEmbeddedEventBus } from '@waymark/event-bus'
import {
  type ApiKeys,
  createApiKeys,
  createConfigChanges,
  createProjectConfigs,
  type LatestProjectConfigs,
} from '@waymark/project-config'
import { Registry } from 'prom-client'
import { openGeoDatabase } from './geo-database.ts'
import { startLoop } from './loop.ts'
import { measureBus } from './metrics/measure-bus.ts'
import { measureCache } from './metrics/measure-cache.ts'
import { measureDatabase, measureLag } from './metrics/measure-stores.ts'
import type { Limits, PlatformConfig } from './platform-config.ts'
import { retryFor } from './retry-for.ts'
import type { Scope } from './scope.ts'
import { databaseUrl, kafkaOptions, redisOptions } from './stores-options.ts'
import { traceBus } from './tracing/trace-bus.ts'

/** What every app is given to stand on; which parts are behind it, only composition roots know. */
export type Platform = {
  db: Database
  bus: EventBus
  cache: Cache
  analytics: Analytics
  apiKeys: ApiKeys
  projectConfigs: LatestProjectConfigs
  /** Holds limits exactly, across processes. */
  rateLimiter: RateLimiter
  /** For the hot path: asks nobody, and learns a moment later what other processes counted. */
  ingestRateLimiter: RateLimiter
  /** Counts that processes share and that begin where the database stands. */
  totals: SharedTotals
  /** Counts how often people were given something, across processes. */
  frequencyCaps: RateLimiter
  limits: Limits
  /** Where addresses are. */
  locate: Locate
  /** Now, in ms since the epoch. */
  clock: () => number
  /**
   * About the same, for how long ago something was: it goes on evenly when somebody sets the clock, so that nothing
   * that is remembered lives an hour longer because of that.
   */
  steadyClock: () => number
  log: Log
  metrics: Registry
  /** Makes spans; undefined when nothing is traced. */
  tracer?: Tracer | undefined
}

/** What composition roots know of the process: its name, for logs and connections, where it logs to, and how it is traced. */
export type PlatformContext = {
  name: string
  log: Log
  scope: Scope
  tracer?: Tracer | undefined
  /** Ends waiting for the stores. */
  signal?: AbortSignal
}

/** How far behind `lastUsedAt` of an API key may be, in ms. */
const KEY_USAGE_MS = 60_000
/** Pause between two looks for changed configuration, in ms; a change is to be known everywhere within 5 s. */
const CONFIG_POLL_MS = 1_000
/** Frequency caps that a process knows of; beyond that those used least recently are forgotten. */
const MAX_CAPS = 200_000

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

type Parts = Pick<
  Platform,
  | 'db'
  | 'bus'
  | 'cache'
  | 'rateLimiter'
  | 'ingestRateLimiter'
  | 'frequencyCaps'
  | 'totals'
  | 'limits'
  | 'locate'
  | 'metrics'
>

const steadyClock = (): number => performance.timeOrigin + performance.now()

const assemble = (parts: Parts, { log, scope, tracer }: PlatformContext): Platform => {
  const { db, metrics } = parts
  const clock = Date.now
  measureDatabase(db, metrics)
  const cache = measureCache(parts.cache, metrics)
  const changes = createConfigChanges({ pool: db.pool, log, now: steadyClock })
  const config = { pool: db.pool, cache, changes, log, now: steadyClock }
  const poll = async (): Promise<boolean> => {
    await changes.poll()
    return false
  }
  const polling = startLoop({ name: 'config-changes', everyMs: CONFIG_POLL_MS, run: poll }, log)
  scope.onStop('config changes', () => polling.stop())
  const apiKeys = createApiKeys({ ...config, clock })
  const noteUsage = async (): Promise<boolean> => {
    await apiKeys.flushUsage()
    return false
  }
  const usage = startLoop({ name: 'api-key-usage', everyMs: KEY_USAGE_MS, run: noteUsage }, log)
  scope.onStop('api key usage', async () => {
    await usage.stop()
    await apiKeys.flushUsage()
  })
  const measured = measureBus(parts.bus, metrics, clock)
  return {
    ...parts,
    cache,
    bus: tracer ? traceBus(measured, tracer) : measured,
    analytics: createPostgresAnalytics(db.pool),
    apiKeys,
    projectConfigs: createProjectConfigs(config),
    clock,
    steadyClock,
    log,
    tracer,
  }
}

/** Kafka, PostgreSQL and Redis, each reached over the network. */
export const distributedPlatform = async (
  config: PlatformConfig,
  context: PlatformContext,
): Promise<Platform> => {
  const { name, log, scope } = context
  const db = openStores(databaseUrl(config.database), config.database.poolSize, context)
  const redis = redisOptions(config.redis)
  const cache = createRedisCache(redis, log)
  scope.onStop('cache', () => cache.close())
  const counter = openRedisCounter(redis, log)
  scope.onStop('rate limit counter', () => counter.close())
  const ingestRateLimiter = createLocallyCountingRateLimiter(counter)
  scope.onStop('rate limiter', () => ingestRateLimiter.close())
  const totals = createRedisTotals(redis, log)
  scope.onStop('totals', () => totals.close())
  const metrics = new Registry()
  const bus = createKafkaEventBus(
    { ...kafkaOptions(config.kafka), clientId: `waymark-${name}`, onLag: measureLag(metrics) },
    log,
  )
  scope.onStop('kafka', () => bus.close())
  await retryFor(() => requireMigrated(db.pool), {
    ms: config.database.waitMs,
    what: 'the database',
    log,
    signal: context.signal,
  })
  const rateLimiter = createSharedRateLimiter(counter)
  const frequencyCaps = createSharedRateLimiter(counter, { maxKeys: MAX_CAPS })
  const locate = await openGeoDatabase(config.geo.file, context)
  const counters = { rateLimiter, ingestRateLimiter, frequencyCaps, totals }
  return assemble({ db, bus, cache, ...counters, limits: config.limits, locate, metrics }, context)
}

/** One PostgreSQL that this process has to itself, its log in place of Kafka, memory in place of Redis. */
export const embeddedPlatform = async (
  { databaseUrl, limits, geoFile = '' }: { databaseUrl: string; limits: Limits; geoFile?: string },
  context: PlatformContext,
): Promise<Platform> => {
  const { log, scope } = context
  const db = openStores(databaseUrl, 20, context)
  const bus = await openEmbeddedEventBus({ databaseUrl, pool: db.pool }, log)
  scope.onStop('log', () => bus.close())
  const rateLimiter = createMemoryRateLimiter()
  return assemble(
    {
      db,
      bus,
      cache: createMemoryCache(),
      rateLimiter,
      ingestRateLimiter: rateLimiter,
      totals: createMemoryTotals(),
      frequencyCaps: createMemoryRateLimiter({ maxKeys: MAX_CAPS }),
      limits,
      locate: await openGeoDatabase(geoFile, context),
      metrics: new Registry(),
    },
    context,
  )
}
