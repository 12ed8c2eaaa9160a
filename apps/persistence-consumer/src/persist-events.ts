import type { Analytics } from '@waymark/analytics'
import type { EnrichedEvent } from '@waymark/contracts'
import type { Database } from '@waymark/database'
import type { Delivery } from '@waymark/event-bus'
import { type EventPartitions, storeArrivals } from '@waymark/pipeline'

type Deps = { db: Database; analytics: Analytics; partitions: EventPartitions }

/** Stores a batch of enriched events in both stores, each event once, and resolves when both have it. */
export const createPersistEvents = ({ db, analytics, partitions }: Deps) => {
  return async (batch: readonly Delivery<EnrichedEvent>[]): Promise<undefined> => {
    const events = batch.map(({ value }) => value)
    await partitions.ensureFor(events)
    await db.transaction((client) => storeArrivals(client, events))
    // The whole batch, not only what was new: a crash between the stores must not leave rows out of this one.
    await analytics.storeEvents(events)
  }
}
