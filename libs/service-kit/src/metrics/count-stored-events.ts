import type { EnrichedEvent } from '@waymark/contracts/records/enriched-event'
import type { Registry } from 'prom-client'
import { counterIn } from './counter-in.ts'

/** Returns a function that counts new events and their conversions. */
export const countStoredEvents = (registry: Registry): ((events: readonly EnrichedEvent[]) => void) => {
  const stored = counterIn(registry, {
    name: 'waymark_stored_events_total',
    help: 'New events in PostgreSQL; repeats do not count',
  })
  const conversions = counterIn(registry, {
    name: 'waymark_stored_conversions_total',
    help: 'Conversions of new events',
  })
  return (events) => {
    stored.inc(events.length)
    conversions.inc(events.reduce((sum, event) => sum + event.conversions.length, 0))
  }
}
