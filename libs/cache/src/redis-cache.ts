import type { Log } from '@waymark/contracts'
import { Redis } from 'ioredis'
import type { Cache } from './port.ts'

/** How to reach Redis. `commandTimeoutMs` bounds each command, so that a hanging server costs little. */
export type RedisOptions = { url: string; keyPrefix?: string; commandTimeoutMs?: number }

const LOG_INTERVAL_MS = 10_000

/** A cache in Redis. While Redis is away it behaves as if empty, at once, and reconnects in the background. */
export const createRedisCache = (
  { url, keyPrefix = 'waymark:', commandTimeoutMs = 200 }: RedisOptions,
  log: Log,
): Cache => {
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

  const orElse = async <T>(command: Promise<T>, otherwise: T): Promise<T> => {
    try {
      return await command
    } catch (error) {
      complain(error)
      return otherwise
    }
  }

  return {
    get: async (key) => (await orElse(redis.get(key), null)) ?? undefined,
    set: async (key, value, ttlMs) => {
      await orElse(redis.set(key, value, 'PX', Math.max(1, Math.ceil(ttlMs))), null)
    },
    delete: async (key) => {
      await orElse(redis.del(key), 0)
    },
    close: async () => redis.disconnect(),
  }
}
