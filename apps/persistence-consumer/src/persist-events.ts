import type { Analytics } from '@waymark/analytics'
import type { EnrichedEvent } from '@waymark/contracts'
import type { Database } from '@waymark/database'
import type { Delivery } from '@waymark/event-bus'
import { countedEventsIn, type EventPartitions, storeArrivals } from '@waymark/pipeline'
import type { ProjectConfigs } from '@waymark/project-config'

type Deps = {
  db: Database
  analytics: Analytics
  projectConfigs: ProjectConfigs
  partitions: EventPartitions
}

/** Stores a batch of enriched events in both stores, each event once, and resolves when both have it. */
export const createPersistEvents = ({ db, analytics, projectConfigs, partitions }: Deps) => {
  return async (batch: readonly Delivery<EnrichedEvent>[]): Promise<undefined> => {
    const events = batch.map(({ value }) => value)
    await partitions.ensureFor(events)
    const countedEvents = await countedEventsIn(projectConfigs, events)
    await db.transaction((client) => storeArrivals(client, events, countedEvents))
    // The whole batch, not only what was new: a crash between the stores must not leave rows out of this one.
    await analytics.storeEvents(events)
  }
}
