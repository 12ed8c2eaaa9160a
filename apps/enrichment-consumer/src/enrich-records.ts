import { enrichedEvents, type IngestRecord } from '@waymark/contracts'
import { describeUserAgent, enrichEvent, partitionKeyOf, type UserAgent } from '@waymark/domain'
import type { Delivery, EventBus } from '@waymark/event-bus'
import { LRUCache } from 'lru-cache'

const MAX_USER_AGENTS = 10_000

/** Enriches a batch of accepted records and resolves when the events are durable in the public stream. */
export const createEnrichRecords = ({ bus }: { bus: EventBus }) => {
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

  return async (batch: readonly Delivery<IngestRecord>[]): Promise<undefined> => {
    const events = batch.map(({ value }) => enrichEvent(value, { describeUserAgent: remembered }))
    await bus.publish(
      enrichedEvents,
      events.map((value) => ({ key: partitionKeyOf(value.projectId, value), value })),
    )
  }
}
