import type { EventView, LiveEventQuery, Log } from '@waymark/contracts'
import type { Pool } from 'pg'
import { type EventRow, eventView, readEvents } from './events.ts'

/** Pause between two looks for new events of one question, in ms. */
const LOOK_MS = 700
/** The newest events that a look compares with those of the look before. */
const NEWEST = 200
/** Events that wait for one reader; of more the oldest are left out. */
const MAX_PENDING = 500

/** Somebody who is sent events as they are stored. */
export type LiveReader = {
  /** Resolves when there are events, when the reader was closed, or after `ms`; with whether it is still open. */
  wait: (ms: number) => Promise<boolean>
  /** What has arrived since the last call, the oldest first, and how many did not fit. */
  take: () => { events: EventView[]; dropped: number }
  close: () => void
}

type Deps = { pool: Pool; log: Log }

/**
 * Looks for new events while somebody reads: once for all readers with the same question. What is sent is what is stored,
 * so a list that is read when the stream has begun and the stream together miss nothing.
 */
export const createLiveEvents = ({ pool, log }: Deps) => {
  const tails = new Map<string, Tail>()
  return {
    /** Begins to follow. Resolves once every event that is stored from now on will be sent. */
    follow: async (projectId: string, query: LiveEventQuery): Promise<LiveReader> => {
      const key = JSON.stringify([projectId, query.eventName, query.visitorId, query.userId])
      const tail = tails.get(key) ?? createTail({ pool, log }, projectId, query, () => tails.delete(key))
      tails.set(key, tail)
      return tail.join()
    },
  }
}

type Tail = { join: () => Promise<LiveReader> }
type Queue = { add: (events: readonly EventView[]) => void }

const createTail = (
  { pool, log }: Deps,
  projectId: string,
  query: LiveEventQuery,
  onIdle: () => void,
): Tail => {
  const readers = new Set<Queue>()
  let known: readonly EventRow[] | undefined
  let timer: NodeJS.Timeout | undefined

  const look = async (): Promise<void> => {
    const { events } = await readEvents(pool, projectId, { ...query, filters: [] }, undefined, NEWEST)
    const fresh = known ? newIn(events, known) : []
    known = events
    if (fresh.length > 0) for (const reader of readers) reader.add(fresh)
  }
  const goOn = async (): Promise<void> => {
    try {
      await look()
    } catch (error) {
      log.debug({ err: error, projectId }, 'Looking for live events failed; trying again')
    }
    timer = readers.size > 0 ? setTimeout(() => void goOn(), LOOK_MS) : undefined
    if (!timer) onIdle()
  }
  let first: Promise<void> | undefined
  const begin = (): Promise<void> => {
    first ??= look().then(() => {
      timer = setTimeout(() => void goOn(), LOOK_MS)
    })
    return first
  }

  return {
    join: async () => {
      const { queue, reader } = createReader(() => readers.delete(queue))
      readers.add(queue)
      try {
        await begin()
      } catch (error) {
        reader.close()
        if (readers.size === 0) onIdle()
        throw error
      }
      return reader
    },
  }
}

/** The events that were not among those of the look before, the oldest first. */
const newIn = (events: readonly EventRow[], before: readonly EventRow[]): EventView[] => {
  const keys = new Set(before.map(({ event_key }) => event_key))
  // When newer ones are erased, older ones come into sight again.
  const oldest = before.length === NEWEST ? (before.at(-1)?.received_at.getTime() ?? 0) : 0
  return events
    .filter(({ event_key, received_at }) => !keys.has(event_key) && received_at.getTime() >= oldest)
    .map(eventView)
    .reverse()
}

/** The queue of one reader, and the reader. */
export const createReader = (onClose: () => void): { queue: Queue; reader: LiveReader } => {
  let pending: EventView[] = []
  let dropped = 0
  let closed = false
  let wake = (): void => {}
  return {
    queue: {
      add: (events) => {
        pending.push(...events)
        dropped += Math.max(0, pending.length - MAX_PENDING)
        pending = pending.slice(-MAX_PENDING)
        wake()
      },
    },
    reader: {
      wait: async (ms) => {
        if (pending.length > 0 || closed) return !closed
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, ms)
          wake = () => {
            clearTimeout(timer)
            resolve()
          }
        })
        return !closed
      },
      take: () => {
        const taken = { events: pending, dropped }
        pending = []
        dropped = 0
        return taken
      },
      close: () => {
        closed = true
        onClose()
        wake()
      },
    },
  }
}
