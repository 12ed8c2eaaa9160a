import { createMoveEvents } from '@waymark/pipeline'
import { everyMs, type Loop, type Platform } from '@waymark/service-kit'
import { Counter } from 'prom-client'

const INTERVAL_MS = 2 * 60 * 1000
/** How long after its start a process looks for events that one of the previous version stores during an upgrade, in ms. */
const UPGRADE_MS = 60 * 60 * 1000
const LOG_INTERVAL_MS = 30 * 1000

/** Moves the events of earlier versions to the event store. It ends when none was left for an hour after the start. */
export const moveEventsLoop = ({
  db,
  eventStore,
  projectConfigs,
  metrics,
  log,
  steadyClock,
}: Pick<Platform, 'db' | 'eventStore' | 'projectConfigs' | 'metrics' | 'log' | 'steadyClock'>): Loop => {
  const counter = new Counter({
    name: 'waymark_moved_events_total',
    help: 'Events of an earlier version that were copied from PostgreSQL to the event store',
    registers: [metrics],
  })
  let copied = 0
  let loggedAt = Number.NEGATIVE_INFINITY
  const moveEvents = createMoveEvents({
    db,
    eventStore,
    projectConfigs,
    onCopied: (month, events) => {
      counter.inc(events)
      copied += events
      if (steadyClock() - loggedAt < LOG_INTERVAL_MS) return
      loggedAt = steadyClock()
      log.info({ month, copied }, 'Copying events of an earlier version to the event store')
    },
    onRemoved: (month, events) =>
      log.info({ month, events, copied }, 'Removed a month of events from PostgreSQL'),
  })
  const startedAt = steadyClock()
  let isDone = false
  return everyMs('move-events', INTERVAL_MS, async (signal) => {
    if (isDone) return
    const found = await moveEvents(signal)
    isDone = found === 0 && steadyClock() - startedAt >= UPGRADE_MS
  })
}
