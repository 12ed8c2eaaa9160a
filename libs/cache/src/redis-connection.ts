import type { Log } from '@waymark/contracts'
import { Redis } from 'ioredis'

/** How to reach Redis. `commandTimeoutMs` bounds each command, so that a hanging server costs little. */
export type RedisOptions = { url: string; keyPrefix?: string; commandTimeoutMs?: number }

const LOG_INTERVAL_MS = 10_000

/**
 * Connects to Redis, and again in the background whenever it was away. Commands fail at once while it is away
 * and after `commandTimeoutMs` (200) while it hangs; `complain` logs such a failure, at most every 10 s.
 */
export const connectRedis = (
  { url, keyPrefix = 'waymark:', commandTimeoutMs = 200 }: RedisOptions,
  log: Log,
): { redis: Redis; complain: (error: unknown) => void } => {
  const redis = new Redis(url, {
    keyPrefix,
    commandTimeout: commandTimeoutMs,
    connectTimeout: 3_000,
    // Commands fail at once while disconnected, instead of waiting in a queue.
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    retryStrategy: (attempt) => Math.min(2_000, 50 * 2 ** attempt),
  })
  let lastLoggedAt = 0
  const complain = (error: unknown): void => {
    if (Date.now() - lastLoggedAt < LOG_INTERVAL_MS) return
    lastLoggedAt = Date.now()
    log.warn({ err: error }, 'Redis is away; going on without it')
  }
  redis.on('error', complain)
  return { redis, complain }
}
