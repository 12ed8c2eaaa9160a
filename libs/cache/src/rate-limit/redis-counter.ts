import type { Log } from '@waymark/contracts'
import { RateLimiterRedis } from 'rate-limiter-flexible'
import { connectRedis, type RedisOptions } from '../redis-connection.ts'
import type { SharedCounter } from './port.ts'

/** After a failure Redis is not asked for this long, so that a hanging one does not delay every request. */
const RETRY_COOLDOWN_MS = 1_000

/** Counts in Redis. While it is down or slow, `add` returns undefined, at the latest after the command timeout. */
export const openRedisCounter = (options: RedisOptions, log: Log): SharedCounter => {
  const { redis, complain } = connectRedis(options, log)
  // It only counts: `points` is not used, and each count has its own duration.
  const counts = new RateLimiterRedis({ storeClient: redis, keyPrefix: 'limit', points: 1, duration: 1 })
  let retryAt = 0

  return {
    isReady: () => redis.status === 'ready' && performance.now() >= retryAt,
    add: async (name, uses, windowMs) => {
      try {
        const { consumedPoints, msBeforeNext } = await counts.penalty(name, uses, {
          customDuration: Math.ceil(windowMs / 1000),
        })
        return { used: consumedPoints, resetMs: msBeforeNext }
      } catch (error) {
        complain(error)
        retryAt = performance.now() + RETRY_COOLDOWN_MS
        return undefined
      }
    },
    close: async () => redis.disconnect(),
  }
}
