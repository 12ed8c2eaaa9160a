import { storeUnavailable } from '@waymark/contracts/app-error'
import type { EnrichedEvent } from '@waymark/contracts/records/enriched-event'
import type { IngestRecord } from '@waymark/contracts/records/ingest-record'
import { enrichedEvents } from '@waymark/contracts/topics'
import type { Locate } from '@waymark/domain/enrichment'
import { partitionKeyOf } from '@waymark/domain/ingestion'
import type { EventWrites } from '@waymark/event-store'
import { aboutEvent, findErased } from '../erasure/index.ts'
import { addToOutbox } from '../outbox/index.ts'
import { createEnrichEvents } from './enrich-events.ts'
import { type ClaimedEvents, keyOfEvent } from './event-queries.ts'
import { createEventWriter, type EventWriterDeps, keptByProjects } from './event-writer.ts'
import { isStoreUnavailable } from './store-errors.ts'

type SyncProcessorDeps = Omit<EventWriterDeps, 'onAllReplicas'> & {
  eventStore: Pick<EventWrites, 'findEventNames'>
  locate?: Locate | undefined
}

/** The lane of synchronously processed events in the outbox. */
const LANE = 'sync-events'

/**
 * The synchronous path: enriches and stores records within the request, with the functions that the consumers use. When
 * it resolves, the events can be read, and the enriched stream will contain them.
 * @returns the indexes of records that were not stored, because an event with another name has their id
 * @throws AppError store_unavailable when a store does not answer, or when an earlier event with the same id is only in the
 * stream so far; repeating the request is safe
 */
export const createSyncProcessor = ({ db, locate, ...deps }: SyncProcessorDeps) => {
  const writeEvents = createEventWriter({ ...deps, db, onAllReplicas: true })
  const enrichEvents = createEnrichEvents({ db, locate })

  /** The events whose id belongs to one with another name. */
  const findOthers = async (repeated: ClaimedEvents['repeated']): Promise<ReadonlySet<EnrichedEvent>> => {
    const found = await deps.eventStore.findEventNames(repeated.map(({ event }) => keyOfEvent(event)))
    const names = new Map(
      found.map(({ projectId, eventKey, eventName }) => [`${projectId}/${eventKey}`, eventName]),
    )
    const named = repeated.map(({ event, claim }) => {
      const { projectId, eventKey } = keyOfEvent(event)
      const name = names.get(`${projectId}/${eventKey}`)
      const isOther = claim.isOther ?? (name !== undefined && name !== event.eventName)
      return { event, claim, isOther, isStored: name !== undefined }
    })
    await refuseUnstored(named.filter(({ isOther, isStored }) => !isOther && !isStored))
    return new Set(named.filter(({ isOther }) => isOther).map(({ event }) => event))
  }

  /** @throws AppError store_unavailable when one of these may still be in the stream, and is neither erased nor removed */
  const refuseUnstored = async (missing: ClaimedEvents['repeated']): Promise<void> => {
    const since = Date.now() - enrichedEvents.retentionMs
    // An event of an earlier version is in the primary database until it is moved.
    const awaited = missing.filter(({ claim }) => !claim.isEarlier && claim.receivedAt.getTime() >= since)
    const isKept = await keptByProjects(
      deps.projectConfigs,
      awaited.map(({ event }) => event),
    )
    const expected = awaited.filter(({ event }) => isKept(event))
    const erased = await findErased(
      db.pool,
      expected.map(({ event, claim }) => ({
        ...aboutEvent(event),
        receivedAt: claim.receivedAt.toISOString(),
      })),
    )
    if (erased.size < expected.length)
      throw storeUnavailable(new Error('An earlier event with the same id is not in the event store yet'))
  }

  return async (records: readonly IngestRecord[]): Promise<readonly number[]> => {
    try {
      const events = await enrichEvents(records)
      const repeated = await writeEvents(events, (client, stored) =>
        addToOutbox(
          client,
          LANE,
          enrichedEvents,
          stored.map((event) => ({ key: partitionKeyOf(event.projectId, event), value: event })),
        ),
      )
      const others = await findOthers(repeated)
      return events.flatMap((event, index) => (others.has(event) ? [index] : []))
    } catch (error) {
      if (!isStoreUnavailable(error)) throw error
      throw storeUnavailable(error)
    }
  }
}
