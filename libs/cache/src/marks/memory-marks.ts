import { LRUCache } from 'lru-cache'
import type { SharedMarks } from './port.ts'

/** Marks within this process: the least recently used of `max` makes room for a new one. */
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
