import type { Log } from '@waymark/contracts/log'
import type { EnrichedEvent } from '@waymark/contracts/records/enriched-event'
import type { IdentifyRecord, IngestRecord, QueuedRecord } from '@waymark/contracts/records/ingest-record'
import { enrichedEvents } from '@waymark/contracts/topics'
import { traceHeadersOf } from '@waymark/contracts/trace-context'
import type { Database } from '@waymark/database'
import type { Locate } from '@waymark/domain/enrichment'
import { partitionKeyOf } from '@waymark/domain/ingestion'
import type { Delivery, EventBus, OutgoingRecord } from '@waymark/event-bus'
import {
  aboutRecord,
  applyIdentify,
  createEnrichEvents,
  findErased,
  identitiesOf,
  type PersonChanges,
} from '@waymark/pipeline'

type EnrichRecordsDeps = {
  bus: EventBus
  db: Database
  personChanges: PersonChanges
  log: Log
  locate?: Locate | undefined
}

/**
 * Enriches a batch of accepted records and resolves when the events are durable in the public stream. Queued identifies are
 * applied in order, so later events see them.
 */
export const createEnrichRecords = ({ bus, db, personChanges, log, locate }: EnrichRecordsDeps) => {
  const enrichEvents = createEnrichEvents({ db, locate })

  const enrich = async (
    deliveries: readonly Delivery<IngestRecord>[],
  ): Promise<OutgoingRecord<EnrichedEvent>[]> => {
    const erased = await findErased(
      db.pool,
      deliveries.map(({ value }) => aboutRecord(value)),
    )
    const kept = deliveries.filter((_, index) => !erased.has(index))
    const events = await enrichEvents(kept.map(({ value }) => value))
    return events.map((value, index) => {
      const headers = traceHeadersOf(kept[index]?.headers ?? {})
      return { key: partitionKeyOf(value.projectId, value), value, ...(headers && { headers }) }
    })
  }

  const apply = async (record: IdentifyRecord): Promise<void> => {
    const applied = await applyIdentify(db, record)
    await personChanges.announce(identitiesOf(record), applied ? [applied.profileId] : [])
    const { projectId, id } = record
    // The client is already answered, and a failure would block later records.
    for (const [why, keys] of [
      ['the profile would exceed its size', applied?.leftOutKeys ?? []],
      ['they were written by a secret key', applied?.droppedKeys ?? []],
    ] as const)
      if (keys.length > 0)
        log.warn({ projectId, identify: id, keys, why }, 'Traits of a queued identify were left out')
  }

  return async (batch: readonly Delivery<QueuedRecord>[]): Promise<undefined> => {
    const events: OutgoingRecord<EnrichedEvent>[] = []
    for (const run of runsOf(batch)) {
      events.push(...(await enrich(run.events)))
      if (run.identify) await apply(run.identify)
    }
    await bus.publish(enrichedEvents, events)
  }
}

/** Events that are resolved together, and the identify that follows them. */
type Run = { events: Delivery<IngestRecord>[]; identify?: IdentifyRecord }

const runsOf = (batch: readonly Delivery<QueuedRecord>[]): Run[] => {
  let run: Run = { events: [] }
  const runs = [run]
  for (const { value, ...delivery } of batch) {
    if (value.kind === 'event') run.events.push({ ...delivery, value })
    else {
      run.identify = value
      run = { events: [] }
      runs.push(run)
    }
  }
  return runs
}
