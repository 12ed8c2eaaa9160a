import type { Cache } from '@waymark/cache'
import { Counter, type Registry } from 'prom-client'

/** The same cache, with a count of its hits and misses. */
export const measureCache = (cache: Cache, registry: Registry): Cache => {
  const requests = new Counter({
    name: 'waymark_cache_requests_total',
    help: 'Values asked for in the shared cache, by whether it had them',
    labelNames: ['result'],
    registers: [registry],
  })
  return {
    ...cache,
    get: async (key) => {
      const value = await cache.get(key)
      requests.inc({ result: value === undefined ? 'miss' : 'hit' })
      return value
    },
  }
}
