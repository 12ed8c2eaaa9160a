import type { Tracer } from '@opentelemetry/api'
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
import type { Log } from '@waymark/contracts/log'
import { type Database, openDatabase } from '@waymark/database'
import type { Locate } from '@waymark/domain/enrichment'
import { createKafkaEventBus, type EventBus, openEmbeddedEventBus } from '@waymark/event-bus'
import type { EventStore } from '@waymark/event-store'
import { classifyError } from '@waymark/pipeline'
import {
  type ApiKeys,
  type ChangeNotices,
  createApiKeys,
  createConfigChanges,
  createProjectConfigs,
  type LatestProjectConfigs,
} from '@waymark/project-config'
import { Registry } from 'prom-client'
import { type EmbeddedEventStore, eventStoreInMemory, openDuckDB } from './event-store.ts'
import { openGeoDatabase } from './geo-database.ts'
import { createImages, type Images } from './images/images.ts'
import { everyMs, type Loop, startLoop } from './loop.ts'
import { createMessageRenderer, type MessageRenderer } from './messages/message-renderer.ts'
import { countFailedRuns } from './metrics/count-failed-runs.ts'
import { measureBus } from './metrics/measure-bus.ts'
import { measureCache, measureDatabase, measureLag, measureRedis } from './metrics/measure-stores.ts'
import { createPasswordQueue, type PasswordQueue } from './password-queue.ts'
import type { Limits, PlatformConfig } from './platform-config.ts'
import { createSchemaChecker, type SchemaChecker } from './schemas/schema-checker.ts'
import type { Scope } from './scope.ts'
import { databaseUrl, kafkaOptions, redisOptions } from './stores-options.ts'
import { traceBus } from './tracing/trace-bus.ts'
import { waitForMigrations } from './wait-for-migrations.ts'

/** The dependencies of every app. Only composition roots know their implementations. */
export type CorePlatform = {
  db: Database
  bus: EventBus
  cache: Cache
  apiKeys: ApiKeys
  projectConfigs: LatestProjectConfigs
  configChanges: ConfigChanges
  /** An exact limiter across processes. */
  rateLimiter: RateLimiter
  /** A limiter for the hot path, which counts in memory and shares its counts shortly after. */
  ingestRateLimiter: RateLimiter
  /** Totals that processes share and that start at the state of the database. */
  totals: SharedTotals
  /** Marks of recent changes, for processes that cache what changed. */
  marks: SharedMarks
  /** Frequency caps of people across processes. */
  frequencyCaps: RateLimiter
  limits: Limits
  /** Looks up the location of an IP address. */
  locate: Locate
  /** Deletes the copies of the messages of deliveries. Undefined where this process keeps none. */
  deleteMailCopies?: ((deliveryIds: readonly string[]) => Promise<void>) | undefined
  /** Now, in ms since the epoch. */
  clock: () => number
  /** A monotonic clock in ms, for the age of cached values. It is not affected when the system clock is set. */
  steadyClock: () => number
  /** The queue of all password hashes of the process. */
  passwordQueue: PasswordQueue
  /** Renders the messages of projects in worker threads. */
  messages: MessageRenderer
  /** Draws images in worker threads. */
  images: Images
  /** Checks the schemas of projects in worker threads. */
  schemas: SchemaChecker
  log: Log
  metrics: Registry
  /** Undefined without tracing. */
  tracer?: Tracer | undefined
}

/** The dependencies of apps that store or query events. */
export type Platform = CorePlatform & { eventStore: EventStore }

/** Changes of what this process caches of the database. */
type ConfigChanges = {
  /** Adds notices that `refresh` covers as well. */
  watch: (notices: Pick<ChangeNotices, 'refresh'>) => void
  /**
   * Applies every change that was committed before this call to this process. Returns the version of the configuration
   * for `X-Config-Version`, or undefined when the database does not answer in time.
   */
  refresh: () => Promise<string | undefined>
  /**
   * Waits until this process has applied every change that was committed before this call, for at most a second. Calls at
   * the same time share a read, and reads are at least 100 ms apart.
   */
  catchUp: () => Promise<void>
}

/** `name` is used in the names of connections. */
type PlatformContext = {
  name: string
  log: Log
  scope: Scope
  tracer?: Tracer | undefined
  /** Aborts waiting for the database. */
  signal?: AbortSignal
  /** How long a command to Redis may take, in ms. Default: that of `@waymark/cache`. */
  redisTimeoutMs?: number
  /** Called while the database lacks migrations. */
  onMigrationsPending?: () => Promise<void>
}

/** Interval of writing `lastUsedAt` of API keys, in ms. */
const KEY_USAGE_MS = 60_000
/** Interval of polls for changed configuration, in ms. Changes must apply everywhere within 5 s. */
const CONFIG_POLL_MS = 1_000
/** Most frequency caps in memory. Beyond it the least recently used ones are dropped. */
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

/** Not a version, so that it stands for the newest one. */
const NEWEST = 'newest'

const combineNotices = (changes: ChangeNotices): ConfigChanges => {
  const others: Pick<ChangeNotices, 'refresh'>[] = []
  return {
    watch: (notices) => void others.push(notices),
    refresh: async () => {
      const [version] = await Promise.all([changes, ...others].map((notices) => notices.refresh()))
      return version
    },
    catchUp: () => changes.catchUp(NEWEST),
  }
}

const steadyClock = (): number => performance.timeOrigin + performance.now()

const assemble = (parts: Parts, { log, scope, tracer }: PlatformContext): CorePlatform => {
  const { db, metrics } = parts
  const clock = Date.now
  measureDatabase(db, metrics)
  const cache = measureCache(parts.cache, metrics)
  const changes = createConfigChanges({ pool: db.pool, log, now: steadyClock })
  const config = { pool: db.pool, cache, changes, log, now: steadyClock }
  const failedRuns = countFailedRuns(metrics)
  const start = (loop: Loop) => startLoop(loop, log, failedRuns(loop))
  const polling = start(everyMs('config-changes', CONFIG_POLL_MS, changes.poll))
  scope.onStop('config changes', () => polling.stop())
  const apiKeys = createApiKeys({ ...config, clock })
  const usage = start(everyMs('api-key-usage', KEY_USAGE_MS, apiKeys.flushUsage))
  scope.onStop('api key usage', async () => {
    await usage.stop()
    await apiKeys.flushUsage()
  })
  const onError = (err: Error): void => log.error({ err }, 'A worker of templates, schemas or images failed')
  const messages = createMessageRenderer({ onError })
  scope.onStop('message renderer', () => messages.close())
  const images = createImages({ onError })
  scope.onStop('images', () => images.close())
  const schemas = createSchemaChecker({ onError })
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
    images,
    messages,
    passwordQueue: createPasswordQueue(),
    schemas,
    log,
    tracer,
  }
}

/** The platform of separate services, on Kafka, PostgreSQL and Redis. */
export const distributedPlatform = async (
  config: PlatformConfig,
  context: PlatformContext,
): Promise<CorePlatform> => {
  const { name, log, scope, redisTimeoutMs } = context
  const db = openStores(databaseUrl(config.database), config.database.poolSize, context)
  const metrics = new Registry()
  const redis = {
    ...redisOptions(config.redis),
    ...(redisTimeoutMs !== undefined && { commandTimeoutMs: redisTimeoutMs }),
    onFailure: measureRedis(metrics),
  }
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
  const bus = createKafkaEventBus(
    { ...kafkaOptions(config.kafka), clientId: `waymark-${name}`, onLag: measureLag(metrics) },
    { log, classifyError },
  )
  scope.onStop('kafka', () => bus.close())
  await waitForMigrations(db.pool, {
    ms: config.database.waitMs,
    log,
    name,
    signal: context.signal,
    onPending: context.onMigrationsPending,
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
  eventStore?: EmbeddedEventStore
  limits: Limits
  geoFile?: string
}

/** The platform of a single process: PostgreSQL with an event log instead of Kafka, memory instead of Redis, and DuckDB. */
export const embeddedPlatform = async (
  { databaseUrl, eventStore = eventStoreInMemory(), limits, geoFile = '' }: EmbeddedOptions,
  context: PlatformContext,
): Promise<Platform> => {
  const { log, scope } = context
  const db = openStores(databaseUrl, 20, context)
  const bus = await openEmbeddedEventBus({ databaseUrl, pool: db.pool }, { log, classifyError })
  scope.onStop('log', () => bus.close())
  const store = await openDuckDB(eventStore, scope)
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
  return { ...core, eventStore: store }
}
