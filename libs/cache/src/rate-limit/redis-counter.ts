import type { Log } from '@waymark/contracts/log'
import { RateLimiterRedis } from 'rate-limiter-flexible'
import { connectRedis, type RedisOptions } from '../redis-connection.ts'
import type { SharedCounter } from './port.ts'

/** How long Redis is not asked after a failure, in ms, so that a hanging server does not delay every request. */
const RETRY_COOLDOWN_MS = 1_000

/** Counts in Redis. While it is unavailable, `add` returns undefined within the command timeout. */
export const openRedisCounter = (options: RedisOptions, log: Log): SharedCounter => {
  const { redis, logFailure } = connectRedis(options, log)
  // Only its counting is used: `points` has no effect, and each count has its own duration.
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
        logFailure(error)
        retryAt = performance.now() + RETRY_COOLDOWN_MS
        return undefined
      }
    },
    close: async () => redis.disconnect(),
  }
}
