import type { Log } from '@waymark/contracts/log'
import { LRUCache } from 'lru-cache'
import { connectRedis, type RedisOptions } from './redis-connection.ts'

/** Adds `added` to the total `name`. A total that does not exist starts at `seed`. */
type TotalIncrement = { name: string; added: number; seed: number }

/** Totals that processes share. They may be lost at any time and then start at a seed again. */
export type SharedTotals = {
  /**
   * Returns the totals after the increments, in their order. Undefined when the store fails or is slow; whether anything
   * was added is then unknown.
   */
  add(increments: readonly TotalIncrement[]): Promise<number[] | undefined>
  close(): Promise<void>
}

/** Totals in this process. When there are more than `max`, the least recently used is dropped. */
export const createMemoryTotals = ({ max = 50_000 } = {}): SharedTotals => {
  const totals = new LRUCache<string, number>({ max })
  return {
    add: async (increments) =>
      increments.map(({ name, added, seed }) => {
        const total = (totals.get(name) ?? seed) + added
        totals.set(name, total)
        return total
      }),
    close: async () => totals.clear(),
  }
}

/** How long a total is kept after the last increment, in ms. By then the database has counted all of it. */
const TTL_MS = 24 * 60 * 60_000

/** Totals in Redis. While it is unavailable, `add` returns undefined within the command timeout. */
export const createRedisTotals = (options: RedisOptions, log: Log): SharedTotals => {
  const { redis, logFailure } = connectRedis(options, log)

  const addOne = async ({ name, added, seed }: TotalIncrement): Promise<number> => {
    const key = `total:${name}`
    // Commands on one connection run in the order in which they are sent.
    const [, total] = await Promise.all([
      redis.set(key, seed, 'PX', TTL_MS, 'NX'),
      redis.incrby(key, added),
      redis.pexpire(key, TTL_MS),
    ])
    return total
  }

  return {
    add: async (increments) => {
      if (redis.status !== 'ready') return undefined
      try {
        return await Promise.all(increments.map(addOne))
      } catch (error) {
        logFailure(error)
        return undefined
      }
    },
    close: async () => redis.disconnect(),
  }
}
