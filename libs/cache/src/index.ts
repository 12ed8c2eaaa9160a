export { createMemoryCache } from './memory-cache.ts'
export type { Cache } from './port.ts'
export { createRedisCache, type RedisOptions } from './redis-cache.ts'
