import { LRUCache } from 'lru-cache'
import type { SharedTotals } from './port.ts'

/** Totals within this process: the least recently used of `max` makes room for a new one. */
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
