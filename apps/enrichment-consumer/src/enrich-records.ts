import {
  type EnrichedEvent,
  enrichedEvents,
  type IdentifyRecord,
  type IngestRecord,
  type QueuedRecord,
} from '@waymark/contracts'
import type { Database } from '@waymark/database'
import { enrichEvent, type Locate, partitionKeyOf } from '@waymark/domain'
import type { Delivery, EventBus } from '@waymark/event-bus'
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

  const enrich = async (received: readonly IngestRecord[]): Promise<EnrichedEvent[]> => {
    const erased = await findErased(db.pool, received.map(aboutRecord))
    const records = received.filter((_, place) => !erased.has(place))
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

  return async (batch: readonly Delivery<QueuedRecord>[]): Promise<undefined> => {
    const events: EnrichedEvent[] = []
    for (const run of runsOf(batch.map(({ value }) => value))) {
      events.push(...(await enrich(run.events)))
      if (run.identify) await applyIdentify(db, run.identify)
    }
    await bus.publish(
      enrichedEvents,
      events.map((value) => ({ key: partitionKeyOf(value.projectId, value), value })),
    )
  }
}

/** Events that may be resolved together, and the identify behind them. */
type Run = { events: IngestRecord[]; identify?: IdentifyRecord }

const runsOf = (records: readonly QueuedRecord[]): Run[] => {
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
