import type { Log } from '@waymark/contracts'
import { connectRedis, type RedisOptions } from '../redis-connection.ts'
import type { SharedTotals } from './port.ts'

/** A total that nobody adds to is forgotten after this long, in ms: its seed is right again long before. */
const KEPT_MS = 24 * 60 * 60_000

/** Totals in Redis. While it is down or slow, `add` returns undefined, at the latest after the command timeout. */
export const createRedisTotals = (options: RedisOptions, log: Log): SharedTotals => {
  const { redis, complain } = connectRedis(options, log)
  return {
    add: async (increments) => {
      if (redis.status !== 'ready') return undefined
      try {
        const answers = await Promise.all(
          increments.map(async ({ name, added, seed }) => {
            const key = `total:${name}`
            // Commands of one connection run in the order in which they are given.
            const [, total] = await Promise.all([
              redis.set(key, seed, 'PX', KEPT_MS, 'NX'),
              redis.incrby(key, added),
              redis.pexpire(key, KEPT_MS),
            ])
            return total
          }),
        )
        return answers
      } catch (error) {
        complain(error)
        return undefined
      }
    },
    close: async () => redis.disconnect(),
  }
}
