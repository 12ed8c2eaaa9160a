import type { Analytics } from '@waymark/analytics'
import type { EnrichedEvent } from '@waymark/contracts'
import type { Database } from '@waymark/database'
import { eventKeyOf } from '@waymark/domain'
import type { ProjectConfigs } from '@waymark/project-config'
import type { ClientBase } from 'pg'
import { countedEventsIn } from './decisions/store-counts.ts'
import { aboutEvent, findErased, withoutErased } from './erasure/erased-records.ts'
import type { EventPartitions } from './event-partitions.ts'
import { storeArrivals } from './store-arrivals.ts'

export type StoreInBothDeps = {
  db: Database
  analytics: Analytics
  projectConfigs: ProjectConfigs
  partitions: EventPartitions
}
/** What else is written in the transaction that stores events in the primary database. */
export type Alongside = (client: ClientBase, events: readonly EnrichedEvent[]) => Promise<void>

/**
 * Stores events in the primary database and the analytics store, each event once, and resolves when both have them.
 * Events of people who were erased after they were received are in neither of them afterwards.
 */
export const createStoreInBoth = ({ db, analytics, projectConfigs, partitions }: StoreInBothDeps) => {
  const eraseFromAnalytics = async (events: readonly EnrichedEvent[]): Promise<void> => {
    if (events.length === 0) return
    await analytics.eraseEvents(
      events.map(({ projectId, eventId }) => ({ projectId, eventKey: eventKeyOf(eventId) })),
    )
  }

  return async (events: readonly EnrichedEvent[], alongside?: Alongside): Promise<void> => {
    await partitions.ensureFor(events)
    const countedEvents = await countedEventsIn(projectConfigs, events)
    const { kept, erased } = await db.transaction(async (client) => {
      const sorted = await withoutErased(client, events, aboutEvent)
      await storeArrivals(client, sorted.kept, countedEvents)
      await alongside?.(client, sorted.kept)
      return sorted
    })
    // All of them, not only what was new: a crash between the stores must not leave rows out of this one.
    await analytics.storeEvents(kept)
    // An erasure may have gone through both between the two; or, before a crash, through this one only.
    const late = await findErased(db.pool, kept.map(aboutEvent))
    await eraseFromAnalytics([...erased, ...kept.filter((_, place) => late.has(place))])
  }
}
