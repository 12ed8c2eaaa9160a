import type { EnrichedEvent } from '@waymark/contracts/records/enriched-event'
import type { Database } from '@waymark/database'
import type { EventWrites } from '@waymark/event-store'
import type { ProjectConfigs } from '@waymark/project-config'
import { aboutEvent, findErased } from '../erasure/index.ts'
import { keyOfEvent } from './event-queries.ts'
import { keptByProjects } from './event-writer.ts'
import { countEventWrites, findMonths, lockMove, readMonth, removeMonth } from './moved-event-queries.ts'

const BATCH_EVENTS = 1_000

type MoveEventsDeps = {
  db: Database
  eventStore: Pick<EventWrites, 'findEventNames' | 'completeEvents' | 'eraseEvents'>
  projectConfigs: ProjectConfigs
  /** Called after each batch with the month and the number of copied events. */
  onCopied?: (month: string, events: number) => void
  /** Called when the events of a month are removed from the primary database. */
  onRemoved?: (month: string, events: number) => void
  batchEvents?: number
}

/**
 * Moves the events of earlier versions from the primary database to the event store, a month at a time, a batch after
 * the other, in one process at a time. The events of a month are removed once all of them were found in the event store
 * and no others were stored meanwhile. It may stop at any point: the next run copies only what is missing.
 * @returns a function that copies what is missing and returns the number of events that it found in the primary database,
 *   `undefined` while another process moves them
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

  const copy = async (month: string, events: readonly EnrichedEvent[]): Promise<void> => {
    if (events.length === 0) return
    await eventStore.completeEvents(events)
    // An erasure may have run since the events were read.
    const erased = await findErased(db.pool, events.map(aboutEvent))
    await eventStore.eraseEvents(events.filter((_, index) => erased.has(index)).map(keyOfEvent))
    onCopied(month, events.length)
  }

  /** Copies what is missing of a month. */
  const copyMonth = async (month: string, stillMoving: () => Promise<boolean>) => {
    let [found, copied] = [0, 0]
    for await (const events of readMonth(db.pool, month, batchEvents)) {
      const missing = await missingOf(events)
      await copy(month, missing)
      found += events.length
      copied += missing.length
      if (!(await stillMoving())) break
    }
    return { found, copied }
  }

  /** Copies what is missing of a month, and removes the month when nothing was. */
  const moveOnce = async (month: string, stillMoving: () => Promise<boolean>) => {
    const writes = await countEventWrites(db.pool)
    const { found, copied } = await copyMonth(month, stillMoving)
    const isMoved = copied === 0 && (await stillMoving())
    if (isMoved && (await removeMonth(db.pool, month, writes))) onRemoved(month, found)
    return { found, copied }
  }

  /** Returns the number of events of a month. */
  const moveMonth = async (month: string, stillMoving: () => Promise<boolean>): Promise<number> => {
    const { found, copied } = await moveOnce(month, stillMoving)
    return copied === 0 ? found : (await moveOnce(month, stillMoving)).found
  }

  return (signal: AbortSignal): Promise<number | undefined> =>
    // The transaction only holds the lock: one that reads for long would have partitions of new months wait.
    db.transaction(async (client) => {
      if (!(await lockMove(client))) return
      const stillMoving = async (): Promise<boolean> => {
        await client.query('SELECT')
        return !signal.aborted
      }
      let found = 0
      for (const month of await findMonths(db.pool)) {
        if (!(await stillMoving())) break
        found += await moveMonth(month, stillMoving)
      }
      return found
    })
}
