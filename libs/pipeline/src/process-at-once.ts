import type { Analytics } from '@waymark/analytics'
import { enrichedEvents, type IngestRecord } from '@waymark/contracts'
import { type Database, isTransient } from '@waymark/database'
import { type EnrichmentLookups, enrichEvent, partitionKeyOf } from '@waymark/domain'
import type { ProjectConfigs } from '@waymark/project-config'
import { countedEventsIn } from './decisions/store-counts.ts'
import { createEventPartitions } from './event-partitions.ts'
import { resolveProfiles } from './identity/resolve-profiles.ts'
import { addToOutbox } from './outbox.ts'
import { storeArrivals } from './store-arrivals.ts'
import { storeUnavailable } from './store-unavailable.ts'

/** What the synchronous path needs. */
export type ProcessAtOnceDeps = {
  db: Database
  analytics: Analytics
  projectConfigs: ProjectConfigs
  lookups?: Partial<EnrichmentLookups>
}

/**
 * The synchronous path: enriches and stores records in the request, by the functions that the consumers use.
 * When it resolves, the events can be read from both stores, and subscribers of the enriched stream will get them.
 * @throws AppError store_unavailable when a store does not answer; repeating the request is safe
 */
export const createProcessAtOnce = ({ db, analytics, projectConfigs, lookups }: ProcessAtOnceDeps) => {
  const partitions = createEventPartitions(db)
  return async (records: readonly IngestRecord[]): Promise<void> => {
    try {
      const people = records.map(({ projectId, event }) => ({ ...event, projectId }))
      const profileIds = await resolveProfiles(db.pool, people)
      const events = records.map((record, index) =>
        enrichEvent(record, { ...lookups, profileId: profileIds[index] ?? null }),
      )
      const outgoing = events.map((event) => ({ key: partitionKeyOf(event.projectId, event), value: event }))
      await partitions.ensureFor(events)
      const countedEvents = await countedEventsIn(projectConfigs, events)
      await db.transaction(async (client) => {
        await storeArrivals(client, events, countedEvents)
        await addToOutbox(client, 'processed-at-once', enrichedEvents, outgoing)
      })
      await analytics.storeEvents(events)
    } catch (error) {
      if (!isTransient(error)) throw error
      throw storeUnavailable(error)
    }
  }
}
