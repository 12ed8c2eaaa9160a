import type { EnrichedEvent } from '@waymark/contracts/records/enriched-event'
import type { Database } from '@waymark/database'
import type { EventWrites } from '@waymark/event-store'
import type { ProjectConfigs } from '@waymark/project-config'
import { aboutEvent, findErased } from '../erasure/index.ts'
import { keyOfEvent } from './event-queries.ts'
import { keptByProjects } from './event-writer.ts'
import { findMonths, readMonth, removeMonth } from './moved-event-queries.ts'

const BATCH_EVENTS = 1_000

type MoveEventsDeps = {
  db: Database
  eventStore: Pick<EventWrites, 'findEventNames' | 'completeEvents' | 'eraseEvents'>
  projectConfigs: ProjectConfigs
  /** Called after each batch with the number of copied events. */
  onCopied?: (events: number) => void
  /** Called when the events of a month are removed from the primary database. */
  onRemoved?: (month: string, events: number) => void
  batchEvents?: number
}

/**
 * Moves the events of earlier versions from the primary database to the event store, a month at a time, a batch after
 * the other. Those of a month are removed once a run finds all of them in the event store, and as many are left then.
 * It may stop at any point and runs in any number of processes; a run copies only what is missing.
 * @returns a function that copies what is missing and returns the number of events that it found in the primary database
 */
export const createMoveEvents = ({
  db,
  eventStore,
  projectConfigs,
  onCopied = () => {},
  onRemoved = () => {},
  batchEvents = BATCH_EVENTS,
}: MoveEventsDeps) => {
  /** The events that the event store lacks, although it should have them. */
  const missingOf = async (events: readonly EnrichedEvent[]): Promise<EnrichedEvent[]> => {
    const found = await eventStore.findEventNames(events.map(keyOfEvent))
    const stored = new Set(found.map(({ projectId, eventKey }) => `${projectId}/${eventKey}`))
    const isKept = await keptByProjects(projectConfigs, events)
    const missing = events.filter((event) => {
      const { projectId, eventKey } = keyOfEvent(event)
      return !stored.has(`${projectId}/${eventKey}`) && isKept(event)
    })
    const erased = await findErased(db.pool, missing.map(aboutEvent))
    return missing.filter((_, index) => !erased.has(index))
  }

  const copy = async (events: readonly EnrichedEvent[]): Promise<void> => {
    if (events.length === 0) return
    await eventStore.completeEvents(events)
    // An erasure may have run since the events were read.
    const erased = await findErased(db.pool, events.map(aboutEvent))
    await eventStore.eraseEvents(events.filter((_, index) => erased.has(index)).map(keyOfEvent))
    onCopied(events.length)
  }

  /** Copies what is missing of a month, and removes the month when nothing is. Returns the number of its events. */
  const moveMonth = async (month: string, signal: AbortSignal): Promise<number> => {
    let [found, copied] = [0, 0]
    for await (const events of readMonth(db.pool, month, batchEvents)) {
      const missing = await missingOf(events)
      await copy(missing)
      found += events.length
      copied += missing.length
      if (signal.aborted) return found
    }
    if (copied === 0 && (await removeMonth(db.pool, month, found))) onRemoved(month, found)
    return found
  }

  return async (signal: AbortSignal): Promise<number> => {
    let found = 0
    for (const month of await findMonths(db.pool)) {
      if (signal.aborted) break
      found += await moveMonth(month, signal)
    }
    return found
  }
}
