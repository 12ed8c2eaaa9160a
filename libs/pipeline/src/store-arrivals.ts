import type { EnrichedEvent } from '@waymark/contracts'
import type { ClientBase } from 'pg'
import { type CountedEvents, storeCounts } from './decisions/store-counts.ts'
import { storeTouches } from './identity/store-touches.ts'
import { storeConversions } from './store-conversions.ts'
import { storeEvents } from './store-events.ts'

/**
 * Stores events in the primary database with all that follows from an event's first arrival. The consumer and the
 * synchronous path call it alike, in one transaction: either all of it is there, or none.
 */
export const storeArrivals = async (
  client: ClientBase,
  events: readonly EnrichedEvent[],
  countedEvents: CountedEvents,
): Promise<void> => {
  const stored = await storeEvents(client, events)
  await storeCounts(client, stored, countedEvents)
  await storeConversions(client, stored, await storeTouches(client, stored))
}
