export { type Cache, createMemoryCache, createRedisCache, readCopy } from './cache.ts'
export { createMemoryMarks, createRedisMarks, type SharedMarks } from './marks.ts'
export type { RateLimitedUse, RateLimiter } from './rate-limit/port.ts'
export {
  createLocallyCountingRateLimiter,
  createMemoryRateLimiter,
  createSharedRateLimiter,
} from './rate-limit/rate-limiters.ts'
export { openRedisCounter } from './rate-limit/redis-counter.ts'
export { type CachedValue, createReadThroughCache, type ReadValue } from './read-through-cache.ts'
export type { RedisOptions } from './redis-connection.ts'
export { createMemoryTotals, createRedisTotals, type SharedTotals } from './totals.ts'
