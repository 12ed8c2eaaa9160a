import { createCompleteEvents } from '@waymark/pipeline'
import { everyMs, type Loop, type Platform } from '@waymark/service-kit'
import { Counter } from 'prom-client'

const INTERVAL_MS = 2 * 60 * 1000
/** How long after its start a process looks for events that one of the previous version stores during an upgrade, in ms. */
const UPGRADE_MS = 60 * 60 * 1000

/**
 * Completes the events that an earlier version has stored in the analytics store. It ends an hour after the start, because
 * finding none may read many parts of the store that were not merged yet.
 */
export const completeEventsLoop = ({
  db,
  analytics,
  metrics,
  log,
  steadyClock,
}: Pick<Platform, 'db' | 'analytics' | 'metrics' | 'log' | 'steadyClock'>): Loop => {
  const counter = new Counter({
    name: 'waymark_completed_events_total',
    help: 'Events of an earlier version that were completed in the analytics store',
    registers: [metrics],
  })
  const onCompleted = (events: number): void => {
    counter.inc(events)
    log.info({ events }, 'Completed events of an earlier version in the analytics store')
  }
  const completeEvents = createCompleteEvents({ db, analytics, onCompleted })
  const startedAt = steadyClock()
  let isDone = false
  return everyMs('complete-events', INTERVAL_MS, async (signal) => {
    if (isDone) return
    const completed = await completeEvents(signal)
    isDone = completed === 0 && steadyClock() - startedAt >= UPGRADE_MS
  })
}
