import {
  type EnrichedEvent,
  enrichedEvents,
  type IdentifyRecord,
  type IngestRecord,
  type QueuedRecord,
  traceHeadersOf,
} from '@waymark/contracts'
import type { Database } from '@waymark/database'
import { enrichEvent, ingestRecordFrom, type Locate, partitionKeyOf } from '@waymark/domain'
import type { Delivery, EventBus, OutgoingRecord } from '@waymark/event-bus'
import {
  aboutRecord,
  applyIdentify,
  createResolveLinks,
  findErased,
  rememberUserAgents,
  resolveProfiles,
} from '@waymark/pipeline'

export type EnrichRecordsDeps = { bus: EventBus; db: Database; locate?: Locate }

/**
 * Enriches a batch of accepted records and resolves when the events are durable in the public stream. Identifies that
 * were queued are applied in their place: events behind one see it.
 */
export const createEnrichRecords = ({ bus, db, locate }: EnrichRecordsDeps) => {
  const describeUserAgent = rememberUserAgents()
  const resolveLinks = createResolveLinks(db)

  const enrich = async (
    received: readonly IngestRecord[],
    traces: Traces,
  ): Promise<OutgoingRecord<EnrichedEvent>[]> => {
    const erased = await findErased(db.pool, received.map(aboutRecord))
    const records = received.filter((_, place) => !erased.has(place))
    const people = records.map(({ projectId, event, receivedAt }) => ({ ...event, projectId, receivedAt }))
    const [profileIds, shortLinks] = await Promise.all([
      resolveProfiles(db.pool, people),
      resolveLinks(records),
    ])
    return records.map((record, index) => {
      const value = enrichEvent(record, {
        profileId: profileIds[index] ?? null,
        shortLink: shortLinks[index] ?? null,
        describeUserAgent,
        ...(locate && { locate }),
      })
      const headers = traces.get(record)
      return { key: partitionKeyOf(value.projectId, value), value, ...(headers && { headers }) }
    })
  }

  return async (batch: readonly Delivery<QueuedRecord>[]): Promise<undefined> => {
    const events: OutgoingRecord<EnrichedEvent>[] = []
    const records = batch.map(({ value }) => (value.kind === 'event' ? ingestRecordFrom(value) : value))
    const traces = tracesOf(batch, records)
    for (const run of runsOf(records)) {
      events.push(...(await enrich(run.events, traces)))
      if (run.identify) await applyIdentify(db, run.identify)
    }
    await bus.publish(enrichedEvents, events)
  }
}

/** A queued record, with everything that was left out. */
type Arrived = IngestRecord | IdentifyRecord

/** The trace of each record that has one: what becomes of the record stays in it. */
type Traces = ReadonlyMap<Arrived, { traceparent: string }>

const tracesOf = (batch: readonly Delivery<QueuedRecord>[], records: readonly Arrived[]): Traces => {
  const traces = new Map<Arrived, { traceparent: string }>()
  records.forEach((record, index) => {
    const trace = traceHeadersOf(batch[index]?.headers ?? {})
    if (trace) traces.set(record, trace)
  })
  return traces
}

/** Events that may be resolved together, and the identify behind them. */
type Run = { events: IngestRecord[]; identify?: IdentifyRecord }

const runsOf = (records: readonly Arrived[]): Run[] => {
  const runs: Run[] = [{ events: [] }]
  for (const record of records) {
    const run = runs.at(-1)
    if (record.kind === 'event') run?.events.push(record)
    else {
      if (run) run.identify = record
      runs.push({ events: [] })
    }
  }
  return runs
}
