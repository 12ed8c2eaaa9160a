import type { EnrichedEvent, IngestRecord } from '@waymark/contracts'
import type { Database } from '@waymark/database'
import { enrichEvent, type Locate } from '@waymark/domain'
import { resolveProfiles } from '../identity/index.ts'
import { createResolveLinks } from '../links/index.ts'
import { rememberUserAgents } from './user-agents.ts'

export type EnrichEventsDeps = { db: Pick<Database, 'pool'>; locate?: Locate | undefined }

/** Makes the enrichment of the consumer and of the synchronous path. */
export const createEnrichEvents = ({ db, locate }: EnrichEventsDeps) => {
  const describeUserAgent = rememberUserAgents()
  const resolveLinks = createResolveLinks(db)

  /** Enriches a batch: one event per record, in the same order. People who are new get a profile. */
  return async (records: readonly IngestRecord[]): Promise<EnrichedEvent[]> => {
    const people = records.map(({ projectId, event, receivedAt }) => ({ ...event, projectId, receivedAt }))
    const [profileIds, shortLinks] = await Promise.all([
      resolveProfiles(db.pool, people),
      resolveLinks(records),
    ])
    return records.map((record, index) =>
      enrichEvent(record, {
        profileId: profileIds[index] ?? null,
        shortLink: shortLinks[index] ?? null,
        describeUserAgent,
        ...(locate && { locate }),
      }),
    )
  }
}
