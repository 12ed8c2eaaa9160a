import { storeUnavailable } from '@waymark/contracts/app-error'
import type { IngestRecord } from '@waymark/contracts/records/ingest-record'
import { enrichedEvents } from '@waymark/contracts/topics'
import type { Locate } from '@waymark/domain/enrichment'
import { partitionKeyOf } from '@waymark/domain/ingestion'
import { addToOutbox } from '../outbox/index.ts'
import { createEnrichEvents } from './enrich-events.ts'
import { createEventPartitions, findOtherEvents } from './event-queries.ts'
import { createEventWriter, type EventWriterDeps } from './event-writer.ts'
import { isStoreUnavailable } from './store-errors.ts'

type SyncProcessorDeps = Omit<EventWriterDeps, 'partitions' | 'onAllReplicas'> & {
  locate?: Locate | undefined
}

/** The lane of synchronously processed events in the outbox. */
const LANE = 'sync-events'

/**
 * The synchronous path: enriches and stores records within the request, with the functions that the consumers use. When
 * it resolves, the events can be read from both stores, and the enriched stream will contain them.
 * @returns the indexes of records that were not stored, because an event with another name has their id
 * @throws AppError store_unavailable when a store does not answer; repeating the request is safe
 */
export const createSyncProcessor = ({ db, projectConfigs, locate, ...deps }: SyncProcessorDeps) => {
  const partitions = createEventPartitions(db)
  const writeEvents = createEventWriter({ ...deps, db, projectConfigs, partitions, onAllReplicas: true })
  const enrichEvents = createEnrichEvents({ db, locate })
  return async (records: readonly IngestRecord[]): Promise<readonly number[]> => {
    try {
      const events = await enrichEvents(records)
      await writeEvents(events, (client, stored) =>
        addToOutbox(
          client,
          LANE,
          enrichedEvents,
          stored.map((event) => ({ key: partitionKeyOf(event.projectId, event), value: event })),
        ),
      )
      return await findOtherEvents(db.pool, events)
    } catch (error) {
      if (!isStoreUnavailable(error)) throw error
      throw storeUnavailable(error)
    }
  }
}
