import type { Analytics } from '@waymark/analytics'
import { enrichedEvents, type IngestRecord } from '@waymark/contracts'
import { type Database, isTransient } from '@waymark/database'
import { type EnrichmentLookups, enrichEvent, partitionKeyOf } from '@waymark/domain'
import type { ProjectConfigs } from '@waymark/project-config'
import { createEventPartitions } from './event-partitions.ts'
import { resolveProfiles } from './identity/resolve-profiles.ts'
import { createResolveLinks } from './links/resolve-links.ts'
import { addToOutbox } from './outbox.ts'
import { createStoreInBoth } from './store-in-both.ts'
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
  const storeInBoth = createStoreInBoth({ db, analytics, projectConfigs, partitions })
  const resolveLinks = createResolveLinks(db)
  return async (records: readonly IngestRecord[]): Promise<void> => {
    try {
      const people = records.map(({ projectId, event, receivedAt }) => ({ ...event, projectId, receivedAt }))
      const [profileIds, shortLinks] = await Promise.all([
        resolveProfiles(db.pool, people),
        resolveLinks(records),
      ])
      const events = records.map((record, index) =>
        enrichEvent(record, {
          ...lookups,
          profileId: profileIds[index] ?? null,
          shortLink: shortLinks[index] ?? null,
        }),
      )
      await storeInBoth(events, (client, stored) =>
        addToOutbox(
          client,
          'processed-at-once',
          enrichedEvents,
          stored.map((event) => ({ key: partitionKeyOf(event.projectId, event), value: event })),
        ),
      )
    } catch (error) {
      if (!isTransient(error)) throw error
      throw storeUnavailable(error)
    }
  }
}
