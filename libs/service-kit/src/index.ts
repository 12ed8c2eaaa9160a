export {
  type Config,
  ConfigError,
  type ConfigSpec,
  isVariable,
  readConfig,
  type Variable,
  variable,
} from './config.ts'
export { allowApiKey, apiKeyOf, keyHeaderOrBearer, requireApiKey } from './http/authenticate.ts'
export { directKeyRoute, type KeyAnswer, type KeyCall } from './http/direct-key-route.ts'
export { bodyOf, jsonBody, rawBodyOf } from './http/json-body.ts'
export { keyRoute } from './http/key-route.ts'
export { type LimitRequests, type RateLimitOptions, rateLimit } from './http/rate-limit.ts'
export type { DirectHandler, Exchange, Route } from './http/route.ts'
export { createLog, logConfig } from './log.ts'
export { distributedPlatform, embeddedPlatform, type Platform } from './platform.ts'
export {
  geoConfig,
  type HttpConfig,
  httpConfig,
  type Limits,
  limitsConfig,
  type PlatformConfig,
  platformConfig,
} from './platform-config.ts'
export { retryFor } from './retry-for.ts'
export { runService, type ServiceContext } from './run-service.ts'
export { createScope, type Scope } from './scope.ts'
export { combineServices, type Loop, type Service } from './service.ts'
export { startService } from './start-service.ts'
export { databaseConfig, kafkaConfig, redisConfig } from './stores-config.ts'
export { databaseUrl, kafkaOptions, redisOptions } from './stores-options.ts'
export { tracingConfig } from './tracing/tracing-config.ts'
