import type { Tracer } from '@opentelemetry/api'
import { AnalyticsDataError, type AnalyticsStore, AnalyticsUnavailableError } from '@waymark/analytics'
import {
  type Cache,
  createLocallyCountingRateLimiter,
  createMemoryCache,
  createMemoryMarks,
  createMemoryRateLimiter,
  createMemoryTotals,
  createRedisCache,
  createRedisMarks,
  createRedisTotals,
  createSharedRateLimiter,
  openRedisCounter,
  type RateLimiter,
  type SharedMarks,
  type SharedTotals,
} from '@waymark/cache'
import type { Log } from '@waymark/contracts'
import { classifyStoreError, type Database, openDatabase, requireMigrated } from '@waymark/database'
import type { Locate } from '@waymark/domain'
import { createKafkaEventBus, type EventBus, openEmbeddedEventBus } from '@waymark/event-bus'
import {
  type ApiKeys,
  type ChangeNotices,
  createApiKeys,
  createConfigChanges,
  createProjectConfigs,
  type LatestProjectConfigs,
} from '@waymark/project-config'
import { Registry } from 'prom-client'
import { analyticsInMemory, type EmbeddedAnalytics, openDuckDB } from './analytics.ts'
import { openGeoDatabase } from './geo-database.ts'
import { everyMs, startLoop } from './loop.ts'
import { createMessageRenderer, type MessageRenderer } from './messages/message-renderer.ts'
import { measureBus } from './metrics/measure-bus.ts'
import { measureCache } from './metrics/measure-cache.ts'
import { measureDatabase, measureLag } from './metrics/measure-stores.ts'
import type { Limits, PlatformConfig } from './platform-config.ts'
import { retryFor } from './retry-for.ts'
import { createSchemaChecker, type SchemaChecker } from './schemas/schema-checker.ts'
import type { Scope } from './scope.ts'
import { databaseUrl, kafkaOptions, redisOptions } from './stores-options.ts'
import { traceBus } from './tracing/trace-bus.ts'

/** What every app is given to stand on; which parts are behind it, only composition roots know. */
export type CorePlatform = {
  db: Database
  bus: EventBus
  cache: Cache
  apiKeys: ApiKeys
  projectConfigs: LatestProjectConfigs
  configChanges: ConfigChanges
  /** Holds limits exactly, across processes. */
  rateLimiter: RateLimiter
  /** For the hot path: asks nobody, and learns a moment later what other processes counted. */
  ingestRateLimiter: RateLimiter
  /** Counts that processes share and that begin where the database stands. */
  totals: SharedTotals
  /** What changed a moment ago, for all processes that remember it. */
  marks: SharedMarks
  /** Counts how often people were given something, across processes. */
  frequencyCaps: RateLimiter
  limits: Limits
  /** Where addresses are. */
  locate: Locate
  /** Deletes the copies of these deliveries' messages; undefined where this process keeps none. */
  deleteMailCopies?: ((deliveryIds: readonly string[]) => Promise<void>) | undefined
  /** Now, in ms since the epoch. */
  clock: () => number
  /**
   * About the same, for how long ago something was: it goes on evenly when somebody sets the clock, so that nothing
   * that is remembered lives an hour longer because of that.
   */
  steadyClock: () => number
  /** Renders the messages of projects in worker threads. */
  messages: MessageRenderer
  /** Checks the schemas of projects in worker threads. */
  schemas: SchemaChecker
  log: Log
  metrics: Registry
  /** Makes spans; undefined when nothing is traced. */
  tracer?: Tracer | undefined
}

/** What apps stand on that store events or answer questions about them. */
export type Platform = CorePlatform & { analytics: AnalyticsStore }

/** What this process remembers of the database, and how changes of it are noticed. */
export type ConfigChanges = {
  /** Adds notices of something else than the configuration of projects. */
  watch: (notices: Pick<ChangeNotices, 'refresh'>) => void
  /**
   * Makes every change that was committed before this call count in this process, and returns the version of the
   * configuration for `X-Config-Version`; undefined when the database does not answer in time.
   */
  refresh: () => Promise<string | undefined>
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
    onError: (error) => log.warn({ err: error }, 'Idle database connection was lost'),
  })
  scope.onStop('database', () => db.close())
  return db
}

type Parts = Pick<
  CorePlatform,
  | 'db'
  | 'bus'
  | 'cache'
  | 'rateLimiter'
  | 'ingestRateLimiter'
  | 'frequencyCaps'
  | 'totals'
  | 'marks'
  | 'limits'
  | 'locate'
  | 'metrics'
>

const combineNotices = (changes: ChangeNotices): ConfigChanges => {
  const others: Pick<ChangeNotices, 'refresh'>[] = []
  return {
    watch: (notices) => void others.push(notices),
    refresh: async () => {
      const [version] = await Promise.all([changes, ...others].map((notices) => notices.refresh()))
      return version
    },
  }
}

const steadyClock = (): number => performance.timeOrigin + performance.now()

const classifyError = (error: unknown): ReturnType<typeof classifyStoreError> => {
  if (error instanceof AnalyticsUnavailableError) return 'transient'
  return error instanceof AnalyticsDataError ? 'data' : classifyStoreError(error)
}

const assemble = (parts: Parts, { log, scope, tracer }: PlatformContext): CorePlatform => {
  const { db, metrics } = parts
  const clock = Date.now
  measureDatabase(db, metrics)
  const cache = measureCache(parts.cache, metrics)
  const changes = createConfigChanges({ pool: db.pool, log, now: steadyClock })
  const config = { pool: db.pool, cache, changes, log, now: steadyClock }
  const polling = startLoop(everyMs('config-changes', CONFIG_POLL_MS, changes.poll), log)
  scope.onStop('config changes', () => polling.stop())
  const apiKeys = createApiKeys({ ...config, clock })
  const usage = startLoop(everyMs('api-key-usage', KEY_USAGE_MS, apiKeys.flushUsage), log)
  scope.onStop('api key usage', async () => {
    await usage.stop()
    await apiKeys.flushUsage()
  })
  const messages = createMessageRenderer()
  scope.onStop('message renderer', () => messages.close())
  const schemas = createSchemaChecker()
  scope.onStop('schema checker', () => schemas.close())
  const measured = measureBus(parts.bus, metrics, clock)
  return {
    ...parts,
    cache,
    bus: tracer ? traceBus(measured, tracer) : measured,
    apiKeys,
    projectConfigs: createProjectConfigs(config),
    configChanges: combineNotices(changes),
    clock,
    steadyClock,
    messages,
    schemas,
    log,
    tracer,
  }
}

/** Kafka, PostgreSQL and Redis, each reached over the network. */
export const distributedPlatform = async (
  config: PlatformConfig,
  context: PlatformContext,
): Promise<CorePlatform> => {
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
  const marks = createRedisMarks(redis, log)
  scope.onStop('marks', () => marks.close())
  const metrics = new Registry()
  const bus = createKafkaEventBus(
    { ...kafkaOptions(config.kafka), clientId: `waymark-${name}`, onLag: measureLag(metrics) },
    { log, classifyError },
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
  return assemble({ db, bus, cache, marks, ...counters, limits: config.limits, locate, metrics }, context)
}

type EmbeddedOptions = {
  databaseUrl: string
  /** Default: in memory. */
  analytics?: EmbeddedAnalytics
  limits: Limits
  geoFile?: string
}

/**
 * One PostgreSQL that this process has to itself, its log in place of Kafka, memory in place of Redis, a file in place of
 * ClickHouse.
 */
export const embeddedPlatform = async (
  { databaseUrl, analytics = analyticsInMemory(), limits, geoFile = '' }: EmbeddedOptions,
  context: PlatformContext,
): Promise<Platform> => {
  const { log, scope } = context
  const db = openStores(databaseUrl, 20, context)
  const bus = await openEmbeddedEventBus({ databaseUrl, pool: db.pool }, { log, classifyError })
  scope.onStop('log', () => bus.close())
  const store = await openDuckDB(analytics, scope)
  const rateLimiter = createMemoryRateLimiter()
  const core = assemble(
    {
      db,
      bus,
      cache: createMemoryCache(),
      rateLimiter,
      ingestRateLimiter: rateLimiter,
      totals: createMemoryTotals(),
      marks: createMemoryMarks(),
      frequencyCaps: createMemoryRateLimiter({ maxKeys: MAX_CAPS }),
      limits,
      locate: await openGeoDatabase(geoFile, context),
      metrics: new Registry(),
    },
    context,
  )
  return { ...core, analytics: store }
}
