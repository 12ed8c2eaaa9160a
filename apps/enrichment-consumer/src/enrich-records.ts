import {
  type EnrichedEvent,
  enrichedEvents,
  type IdentifyRecord,
  type IngestRecord,
  type QueuedRecord,
} from '@waymark/contracts'
import type { Database } from '@waymark/database'
import { describeUserAgent, enrichEvent, type Locate, partitionKeyOf, type UserAgent } from '@waymark/domain'
import type { Delivery, EventBus } from '@waymark/event-bus'
import { aboutRecord, applyIdentify, findErased, resolveProfiles } from '@waymark/pipeline'
import { LRUCache } from 'lru-cache'

export type EnrichRecordsDeps = { bus: EventBus; db: Database; locate?: Locate }

const MAX_USER_AGENTS = 10_000

/**
 * Enriches a batch of accepted records and resolves when the events are durable in the public stream. Identifies that
 * were queued are applied in their place: events behind one see it.
 */
export const createEnrichRecords = ({ bus, db, locate }: EnrichRecordsDeps) => {
  // A few thousand agents make up nearly all traffic, and reading one costs more than all the rest.
  const agents = new LRUCache<string, UserAgent>({ max: MAX_USER_AGENTS })
  const remembered = (header: string | null): UserAgent => {
    const key = header ?? ''
    const known = agents.get(key)
    if (known) return known
    const described = describeUserAgent(header)
    agents.set(key, described)
    return described
  }

  const enrich = async (received: readonly IngestRecord[]): Promise<EnrichedEvent[]> => {
    const erased = await findErased(db.pool, received.map(aboutRecord))
    const records = received.filter((_, place) => !erased.has(place))
    const people = records.map(({ projectId, event, receivedAt }) => ({ ...event, projectId, receivedAt }))
    const profileIds = await resolveProfiles(db.pool, people)
    return records.map((record, index) =>
      enrichEvent(record, {
        profileId: profileIds[index] ?? null,
        describeUserAgent: remembered,
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
