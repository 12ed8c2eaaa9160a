import type { EnrichedEvent } from '@waymark/contracts'
import { type Database, ensureEventPartitions } from '@waymark/database'

/** Sees to it that every event has a monthly partition to go to. */
export type EventPartitions = {
  /** Makes the partitions of this month and the next ones. */
  makeAhead(now: Date): Promise<void>
  /** Makes the partitions that these events need, such as those of an old backlog; usually there is nothing to do. */
  ensureFor(events: readonly EnrichedEvent[]): Promise<void>
}

/** Remembers which months this process has seen to, so that asking costs nothing. */
export const createEventPartitions = ({ pool }: Pick<Database, 'pool'>): EventPartitions => {
  const made = new Set<string>()
  return {
    makeAhead: async (now) => {
      await ensureEventPartitions(pool, { now })
    },
    ensureFor: async (events) => {
      const months = new Set(events.map(({ receivedAt }) => receivedAt.slice(0, 7)))
      for (const month of months) {
        if (made.has(month)) continue
        await ensureEventPartitions(pool, { now: new Date(`${month}-01T00:00:00Z`), monthsAhead: 0 })
        made.add(month)
      }
    },
  }
}
