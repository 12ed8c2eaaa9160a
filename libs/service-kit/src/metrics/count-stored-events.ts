import type { EnrichedEvent } from '@waymark/contracts'
import { Counter, type Registry } from 'prom-client'

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

/** The existing counter of the name, because several services of one process store events. */
const counterIn = (registry: Registry, options: { name: string; help: string }): Counter =>
  (registry.getSingleMetric(options.name) as Counter | undefined) ??
  new Counter({ ...options, registers: [registry] })
