import type { Log } from '@waymark/contracts'
import type { Cache } from './port.ts'
import { connectRedis, type RedisOptions } from './redis-connection.ts'

/** A cache in Redis. While Redis is down it behaves like an empty one, without waiting, and reconnects in the background. */
export const createRedisCache = (options: RedisOptions, log: Log): Cache => {
  const { redis, complain } = connectRedis(options, log)

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
