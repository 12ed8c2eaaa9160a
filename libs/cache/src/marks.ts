import type { Log } from '@waymark/contracts/log'
import { Cluster } from 'ioredis'
import { LRUCache } from 'lru-cache'
import { connectRedis, type RedisOptions } from './redis-connection.ts'

/** Marks on keys, such as the time of a change, that processes share. They expire, and may be lost earlier. */
export type SharedMarks = {
  /**
   * Sets the mark of each key for `ttlMs` milliseconds. Readers see it once this resolves. While the store is unavailable
   * it resolves too, and the marks are set when the store is back.
   */
  set(keys: readonly string[], mark: string, ttlMs: number): Promise<void>
  /** The marks of keys, in their order. Undefined as a whole when the store fails or is slow. */
  read(keys: readonly string[]): Promise<(string | undefined)[] | undefined>
  close(): Promise<void>
}

/** Marks in this process. When there are more than `max`, the least recently used is dropped. */
export const createMemoryMarks = ({ max = 200_000 } = {}): SharedMarks => {
  const marks = new LRUCache<string, string>({ max })
  return {
    set: async (keys, mark, ttlMs) => {
      for (const key of keys) marks.set(key, mark, { ttl: ttlMs })
    },
    read: async (keys) => keys.map((key) => marks.get(key)),
    close: async () => marks.clear(),
  }
}

/** Delay before marks that Redis did not accept are set again, in ms. */
const RETRY_MS = 250
/** Most marks that wait for Redis. Beyond it the oldest are dropped. */
const MAX_WAITING = 50_000

/** Marks in Redis. While it is unavailable, `read` returns undefined within the command timeout. */
export const createRedisMarks = (options: RedisOptions, log: Log): SharedMarks => {
  const { redis, logFailure } = connectRedis(options, log)
  const waiting = new Map<string, { mark: string; expiresAt: number }>()
  let timer: NodeJS.Timeout | undefined

  const put = async (key: string, mark: string, ttlMs: number): Promise<void> => {
    try {
      await redis.set(keyOf(key), mark, 'PX', Math.max(1, Math.ceil(ttlMs)))
      waiting.delete(key)
    } catch (error) {
      logFailure(error)
      waiting.set(key, { mark, expiresAt: performance.now() + ttlMs })
    }
  }

  const retryLater = (): void => {
    for (const key of waiting.keys()) {
      if (waiting.size <= MAX_WAITING) break
      waiting.delete(key)
    }
    if (waiting.size === 0 || timer !== undefined) return
    timer = setTimeout(retry, RETRY_MS).unref()
  }

  const retry = async (): Promise<void> => {
    if (redis.status === 'ready') {
      const due = [...waiting]
      waiting.clear()
      await Promise.all(
        due.map(([key, { mark, expiresAt }]) => put(key, mark, expiresAt - performance.now())),
      )
    }
    timer = undefined
    const now = performance.now()
    for (const [key, { expiresAt }] of waiting) if (expiresAt <= now) waiting.delete(key)
    retryLater()
  }

  const readAll = (keys: readonly string[]): Promise<(string | null)[]> =>
    // The keys may be on different nodes of a cluster, where MGET fails.
    redis instanceof Cluster
      ? Promise.all(keys.map((key) => redis.get(keyOf(key))))
      : redis.mget(keys.map(keyOf))

  return {
    set: async (keys, mark, ttlMs) => {
      await Promise.all(keys.map((key) => put(key, mark, ttlMs)))
      retryLater()
    },
    read: async (keys) => {
      if (keys.length === 0) return []
      try {
        return (await readAll(keys)).map((mark) => mark ?? undefined)
      } catch (error) {
        logFailure(error)
        return undefined
      }
    },
    close: async () => {
      clearTimeout(timer)
      redis.disconnect()
    },
  }
}

const keyOf = (key: string): string => `mark:${key}`
