import {
  type EnrichedEvent,
  enrichedEvents,
  type IdentifyRecord,
  type IngestRecord,
  type QueuedRecord,
} from '@waymark/contracts'
import type { Database } from '@waymark/database'
import { enrichEvent, partitionKeyOf } from '@waymark/domain'
import type { Delivery, EventBus } from '@waymark/event-bus'
import { applyIdentify, createResolveLinks, rememberUserAgents, resolveProfiles } from '@waymark/pipeline'

/**
 * Enriches a batch of accepted records and resolves when the events are durable in the public stream. Identifies that
 * were queued are applied in their place: events behind one see it.
 */
export const createEnrichRecords = ({ bus, db }: { bus: EventBus; db: Database }) => {
  const describeUserAgent = rememberUserAgents()
  const resolveLinks = createResolveLinks(db)

  const enrich = async (records: readonly IngestRecord[]): Promise<EnrichedEvent[]> => {
    const people = records.map(({ projectId, event }) => ({ ...event, projectId }))
    const [profileIds, shortLinks] = await Promise.all([
      resolveProfiles(db.pool, people),
      resolveLinks(records),
    ])
    return records.map((record, index) =>
      enrichEvent(record, {
        profileId: profileIds[index] ?? null,
        shortLink: shortLinks[index] ?? null,
        describeUserAgent,
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
