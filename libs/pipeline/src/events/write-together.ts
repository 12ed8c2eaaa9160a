import { AsyncLocalStorage } from 'node:async_hooks'
import type { EnrichedEvent } from '@waymark/contracts/records/enriched-event'

/** Most events of a shared write, unless one batch has more. */
const MAX_EVENTS = 4_000
/** Writes at once: one waits for the primary database while the other waits for the event store. */
const WRITES_AT_ONCE = 2

type Write = (events: readonly EnrichedEvent[]) => Promise<unknown>
type Batch = {
  events: readonly EnrichedEvent[]
  /** Runs a function in the trace of the batch. */
  inTrace: <T>(run: () => T) => T
  resolve: () => void
  reject: (error: unknown) => void
}

/**
 * Writes batches that arrive during earlier writes together, because a transaction and an insert cost nearly as much with few
 * events as with many. When a shared write fails, each of its batches is written alone, so that it fails only by its own
 * events.
 */
export const writeTogether = (write: Write): ((events: readonly EnrichedEvent[]) => Promise<void>) => {
  const waiting: Batch[] = []
  let writes = 0

  const takeWaiting = (): Batch[] => {
    let count = 0
    const end = waiting.findIndex(({ events }, index) => {
      count += events.length
      return index > 0 && count > MAX_EVENTS
    })
    return waiting.splice(0, end === -1 ? waiting.length : end)
  }

  const writeAlone = async ({ events, inTrace, resolve, reject }: Batch): Promise<void> => {
    try {
      await inTrace(() => write(events))
      resolve()
    } catch (error) {
      reject(error)
    }
  }

  const writeShared = async (batches: readonly Batch[]): Promise<void> => {
    const [first, ...others] = batches
    if (!first) return
    if (others.length === 0) return writeAlone(first)
    try {
      await first.inTrace(() => write(batches.flatMap(({ events }) => events)))
    } catch {
      // At once, because in an outage each may take its whole time limit.
      await Promise.all(batches.map(writeAlone))
      return
    }
    for (const { resolve } of batches) resolve()
  }

  const writeWaiting = async (): Promise<void> => {
    if (writes === WRITES_AT_ONCE) return
    writes++
    while (waiting.length > 0) await writeShared(takeWaiting())
    writes--
  }

  return (events) =>
    new Promise((resolve, reject) => {
      waiting.push({ events, inTrace: AsyncLocalStorage.snapshot(), resolve, reject })
      void writeWaiting()
    })
}
