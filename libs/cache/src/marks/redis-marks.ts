import type { Log } from '@waymark/contracts'
import { Cluster } from 'ioredis'
import { connectRedis, type RedisOptions } from '../redis-connection.ts'
import type { SharedMarks } from './port.ts'

/** Pause before marks that Redis did not accept are set again, in ms. */
const RETRY_MS = 250
/** Most marks that wait for Redis; the oldest are dropped first. */
const MAX_WAITING = 50_000

type Waiting = { mark: string; until: number }

/** Marks in Redis. While it is down or slow, `read` returns undefined, at the latest after the command timeout. */
export const createRedisMarks = (options: RedisOptions, log: Log): SharedMarks => {
  const { redis, complain } = connectRedis(options, log)
  const waiting = new Map<string, Waiting>()
  let timer: NodeJS.Timeout | undefined

  const put = async (key: string, mark: string, ttlMs: number): Promise<void> => {
    try {
      await redis.set(keyOf(key), mark, 'PX', Math.max(1, Math.ceil(ttlMs)))
      waiting.delete(key)
    } catch (error) {
      complain(error)
      waiting.set(key, { mark, until: performance.now() + ttlMs })
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
      await Promise.all(due.map(([key, { mark, until }]) => put(key, mark, until - performance.now())))
    }
    timer = undefined
    dropExpired(waiting)
    retryLater()
  }

  const readAll = (keys: readonly string[]): Promise<(string | null)[]> =>
    // The keys of a cluster lie on several nodes, which no single command reads.
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
        complain(error)
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

const dropExpired = (waiting: Map<string, Waiting>): void => {
  const now = performance.now()
  for (const [key, { until }] of waiting) if (until <= now) waiting.delete(key)
}
