import type { Log } from '@waymark/contracts/log'
import type { Validator } from '@waymark/contracts/validator'
import { LRUCache } from 'lru-cache'
import { connectRedis, type RedisOptions } from './redis-connection.ts'

/**
 * Short-lived values, shared between processes by the Redis adapter. A cache may drop a value at any time, so a failing
 * one behaves like an empty one: `get` returns `undefined` and `set` does nothing.
 */
export type Cache = {
  get(key: string): Promise<string | undefined>
  /** Keeps a value for `ttlMs` milliseconds, at least 1. */
  set(key: string, value: string, ttlMs: number): Promise<void>
  delete(key: string): Promise<void>
  close(): Promise<void>
}

/** A cache in this process. When it is full, the least recently used of `max` entries is evicted. */
export const createMemoryCache = ({ max = 10_000 } = {}): Cache => {
  const entries = new LRUCache<string, string>({ max, ttl: 60_000 })
  return {
    get: async (key) => entries.get(key),
    set: async (key, value, ttlMs) => {
      entries.set(key, value, { ttl: ttlMs })
    },
    delete: async (key) => {
      entries.delete(key)
    },
    close: async () => entries.clear(),
  }
}

/** A cache in Redis. While Redis is unavailable it behaves like an empty one and reconnects in the background. */
export const createRedisCache = (options: RedisOptions, log: Log): Cache => {
  const { redis, logFailure } = connectRedis(options, log)

  const orElse = async <T>(command: Promise<T>, fallback: T): Promise<T> => {
    try {
      return await command
    } catch (error) {
      logFailure(error)
      return fallback
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

/**
 * Reads a value that a process has cached as JSON. Undefined when there is none or it does not fit its schema, such as
 * one from an older version.
 */
export const readCopy = async <T>(
  cache: Pick<Cache, 'get'>,
  key: string,
  { fits }: Pick<Validator<T>, 'fits'>,
): Promise<T | undefined> => {
  const value = parse(await cache.get(key))
  return fits(value) ? value : undefined
}

const parse = (text: string | undefined): unknown => {
  if (text === undefined) return undefined
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
