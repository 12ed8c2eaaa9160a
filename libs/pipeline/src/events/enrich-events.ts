import type { EnrichedEvent } from '@waymark/contracts/records/enriched-event'
import type { IngestRecord } from '@waymark/contracts/records/ingest-record'
import type { Database } from '@waymark/database'
import { enrichEvent, type Locate } from '@waymark/domain/enrichment'
import { LoopTurns } from '@waymark/domain/fairness'
import { resolveProfiles } from '../identity/index.ts'
import { createResolveLinks } from '../links/index.ts'
import { cacheUserAgents } from './user-agents.ts'

type EnrichEventsDeps = { db: Pick<Database, 'pool'>; locate?: Locate | undefined }

/** The enrichment of the consumer and of the synchronous path. */
export const createEnrichEvents = ({ db, locate }: EnrichEventsDeps) => {
  const describeUserAgent = cacheUserAgents()
  const resolveLinks = createResolveLinks(db)

  /** Enriches a batch: one event per record, in the same order. Creates the profiles of new people. */
  return async (records: readonly IngestRecord[]): Promise<EnrichedEvent[]> => {
    const people = records.map(({ projectId, receivedAt, event }) => ({
      projectId,
      visitorId: event.visitorId ?? null,
      userId: event.userId ?? null,
      receivedAt,
    }))
    const [profileIds, shortLinks] = await Promise.all([
      resolveProfiles(db.pool, people),
      resolveLinks(records),
    ])
    const events: EnrichedEvent[] = []
    const turns = new LoopTurns()
    for (const [index, record] of records.entries()) {
      // A user agent alone may take a millisecond.
      if (turns.isOver()) await turns.next()
      events.push(
        enrichEvent(record, {
          profileId: profileIds[index] ?? null,
          shortLink: shortLinks[index] ?? null,
          describeUserAgent,
          ...(locate && { locate }),
        }),
      )
    }
    return events
  }
}
