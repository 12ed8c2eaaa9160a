import type { AnalyticsWrites, EventKey } from '@waymark/analytics'
import type { EnrichedEvent } from '@waymark/contracts/records/enriched-event'
import type { Database } from '@waymark/database'
import { aboutEvent, findErased } from '../erasure/index.ts'
import { findStoredEvents, keyOfEvent } from './event-queries.ts'

const BATCH_EVENTS = 1_000

type CompleteEventsDeps = {
  db: Database
  analytics: Pick<AnalyticsWrites, 'listIncompleteEvents' | 'completeEvents' | 'eraseEvents'>
  /** Called after each batch with the number of completed events. */
  onCompleted?: (events: number) => void
  batchEvents?: number
}

/**
 * Completes the events that an earlier version has stored in the analytics store without their time of receipt and their
 * details, from the primary database. It may stop at any point and runs in any number of processes. Events that are only
 * in the analytics store stay as they are.
 * @returns a function that completes all of them and returns their number
 */
export const createCompleteEvents =
  ({ db, analytics, onCompleted = () => {}, batchEvents = BATCH_EVENTS }: CompleteEventsDeps) =>
  async (signal: AbortSignal): Promise<number> => {
    let completed = 0
    for await (const keys of analytics.listIncompleteEvents({ limit: batchEvents })) {
      const events = await findEvents(db, keys)
      await analytics.completeEvents(events)
      // An erasure may have run since the events were read.
      const erased = await findErased(db.pool, events.map(aboutEvent))
      await analytics.eraseEvents(events.filter((_, index) => erased.has(index)).map(keyOfEvent))
      completed += events.length
      if (events.length > 0) onCompleted(events.length)
      if (signal.aborted) break
    }
    return completed
  }

const findEvents = (db: Database, keys: readonly EventKey[]): Promise<EnrichedEvent[]> =>
  db.transaction((client) => findStoredEvents(client, keys))
