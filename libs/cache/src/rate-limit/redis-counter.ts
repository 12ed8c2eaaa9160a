import type { Log } from '@waymark/contracts'
import { RateLimiterRedis } from 'rate-limiter-flexible'
import { connectRedis, type RedisOptions } from '../redis-connection.ts'
import type { SharedCounter } from './port.ts'

/** After a failure Redis is left alone for this long, so that a hanging one does not hold up every request. */
const PAUSE_MS = 1_000

/** Counts in Redis. While Redis is away or slow, `add` answers undefined: at once, or within the command timeout. */
export const openRedisCounter = (options: RedisOptions, log: Log): SharedCounter => {
  const { redis, complain } = connectRedis(options, log)
  // Points and duration do not matter: it only counts here, each count has its own duration.
  const counts = new RateLimiterRedis({ storeClient: redis, keyPrefix: 'limit', points: 1, duration: 1 })
  let pausedUntil = 0

  return {
    isReady: () => redis.status === 'ready' && performance.now() >= pausedUntil,
    add: async (name, uses, windowMs) => {
      try {
        const { consumedPoints, msBeforeNext } = await counts.penalty(name, uses, {
          customDuration: Math.ceil(windowMs / 1000),
        })
        return { used: consumedPoints, resetMs: msBeforeNext }
      } catch (error) {
        complain(error)
        pausedUntil = performance.now() + PAUSE_MS
        return undefined
      }
    },
    close: async () => redis.disconnect(),
  }
}
