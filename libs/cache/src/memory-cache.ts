import { LRUCache } from 'lru-cache'
import type { Cache } from './port.ts'

/** A cache within this process: the least recently used of `max` entries makes room for a new one. */
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
