export { LoopTurns } from '@waymark/domain/fairness'
export { type Archive, type ArchiveConfig, archiveConfig, openArchive } from './archive.ts'
export {
  type Config,
  ConfigError,
  type ConfigSpec,
  isVariable,
  readConfig,
  type Variable,
  variable,
  variablesOf,
} from './config.ts'
export { openClickHouse, openDuckDB } from './event-store.ts'
export { answerLateWith, extendDeadline, extendDeadlineDuring } from './http/deadline.ts'
export { namesTag, tagsIn } from './http/entity-tag.ts'
export { readFormBody } from './http/form-body.ts'
export { closeAtStop } from './http/http-server.ts'
export { essenceOf, type JsonBody, readJsonBody } from './http/json-body.ts'
export {
  accessTokenInHeaders,
  allowApiKey,
  allowKeyInBody,
  type KeyCall,
  keyInHeaders,
  keyOf,
  keyRoute,
} from './http/key-route.ts'
export {
  type Limit,
  type LimitedClient,
  type LimitRequests,
  limitedClient,
  limiterBySize,
  rateLimit,
  tooManyRequests,
} from './http/rate-limit.ts'
export type { Reply } from './http/reply.ts'
export {
  acceptsBrotli,
  disconnectSignal,
  type HttpRequest,
  prefersHtml,
  protocolOf,
  queryOf,
  queryTextOf,
  requestHostOf,
  unknownParameters,
} from './http/request.ts'
export { chargeProject, chargeUser } from './http/request-work.ts'
export { guardedRoute, type HostRoutes, mountRoutes, type Route, route } from './http/router.ts'
export type { Images } from './images/images.ts'
export { createLog, logConfig } from './log.ts'
export { drain, everyMs, type Loop, startLoop, untilStopped } from './loop.ts'
export { createMessageRenderer, type MessageRenderer } from './messages/message-renderer.ts'
export { countStoredEvents } from './metrics/count-stored-events.ts'
export { measureDeliveries } from './metrics/measure-deliveries.ts'
export {
  createGuardedRequests,
  type GuardedRequests,
  RefusedAddressError,
  type ResolveHost,
} from './outgoing/guarded-request.ts'
export { createPasswordQueue, type PasswordQueue } from './password-queue.ts'
export {
  type CorePlatform,
  distributedPlatform,
  embeddedPlatform,
  type Platform,
} from './platform.ts'
export {
  allowedSendersConfig,
  geoConfig,
  httpConfig,
  type Limits,
  limitsConfig,
  platformConfig,
  publicUrlConfig,
} from './platform-config.ts'
export { retryFor } from './retry-for.ts'
export { runApp, runAppWithAnalytics } from './run-app.ts'
export { runService } from './run-service.ts'
export { SCHEMA_CHECK_MS } from './schemas/schema-checker.ts'
export { createScope, type Scope } from './scope.ts'
export { combineServices, type Service, startService } from './start-service.ts'
export { clickhouseConfig, databaseConfig, duckdbConfig, kafkaConfig, redisConfig } from './stores-config.ts'
export { clickhouseOptions, databaseUrl, kafkaOptions, redisOptions } from './stores-options.ts'
export { tracingConfig } from './tracing/tracing-config.ts'
export { waitForMigrations } from './wait-for-migrations.ts'
export { writeFileAtomically } from './write-file.ts'
