import type { LiveEventQuery, Log } from '@waymark/contracts'
import type { Pool } from 'pg'
import { type EventCursor, eventView, readEventsAt, readNewestPlaces } from './events.ts'

/** Pause between two polls of a query, in ms. */
const LOOK_MS = 700
/** The number of newest events that a poll compares with the previous poll. */
const NEWEST = 200
/** Events per read. Parsing more of the largest ones at once would delay other requests. */
const EVENTS_PER_READ = 25
/** Maximum events, and characters of their JSON, in the queue of a reader. The oldest ones are dropped. */
const MAX_PENDING = 500
const MAX_PENDING_CHARACTERS = 2 * 1024 * 1024

/** A reader of events as they are stored. */
export type LiveReader = {
  /** Resolves when there are events, when the reader is closed, or after `ms`. Returns whether it is still open. */
  wait: (ms: number) => Promise<boolean>
  /** The events since the last call as JSON, the oldest first, and the number of dropped ones. */
  take: () => { events: string[]; dropped: number }
  close: () => void
}

type Deps = { pool: Pool; log: Log }

/**
 * Polls for new events while there are readers, once for all readers with the same query. It sends stored events only,
 * so a list that is read after the stream has started has no gap to the stream.
 */
export const createLiveEvents = ({ pool, log }: Deps) => {
  const tails = new Map<string, Tail>()
  return {
    /** Starts reading. Resolves once every event that is stored from now on will be sent. */
    follow: async (projectId: string, query: LiveEventQuery): Promise<LiveReader> => {
      const key = JSON.stringify([projectId, query.eventName, query.visitorId, query.userId])
      const tail = tails.get(key) ?? createTail({ pool, log }, projectId, query, () => tails.delete(key))
      tails.set(key, tail)
      return tail.join()
    },
  }
}

type Tail = { join: () => Promise<LiveReader> }
type Queue = { add: (events: readonly string[]) => void }

const createTail = (
  { pool, log }: Deps,
  projectId: string,
  query: LiveEventQuery,
  onIdle: () => void,
): Tail => {
  const readers = new Set<Queue>()
  let known: readonly EventCursor[] | undefined
  let timer: NodeJS.Timeout | undefined

  const look = async (): Promise<void> => {
    const newest = await readNewestPlaces(pool, projectId, { ...query, filters: [] }, NEWEST)
    const fresh = known ? newIn(newest, known) : []
    for (let start = 0; start < fresh.length; start += EVENTS_PER_READ) {
      const places = fresh.slice(start, start + EVENTS_PER_READ)
      const rows = await readEventsAt(pool, projectId, places)
      // Shared by all readers.
      const events = rows.map((row) => JSON.stringify(eventView(row)))
      for (const reader of readers) reader.add(events)
      // When the next read fails, these must not be sent again.
      known = [...places, ...(known ?? [])]
    }
    known = newest
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

/** The places that were not in the previous poll, the oldest first. */
const newIn = (newest: readonly EventCursor[], before: readonly EventCursor[]): EventCursor[] => {
  const keys = new Set(before.map(({ eventKey }) => eventKey))
  // When newer events are erased, older ones move into the range again.
  const oldest = before.length >= NEWEST ? (before.at(-1)?.receivedAt.getTime() ?? 0) : 0
  return newest
    .filter(({ eventKey, receivedAt }) => !keys.has(eventKey) && receivedAt.getTime() >= oldest)
    .reverse()
}

/** The queue of a reader, and the reader. */
export const createReader = (onClose: () => void): { queue: Queue; reader: LiveReader } => {
  let pending: string[] = []
  let characters = 0
  let dropped = 0
  let closed = false
  let wake = (): void => {}
  return {
    queue: {
      add: (events) => {
        pending.push(...events)
        for (const event of events) characters += event.length
        let excess = 0
        while (pending.length - excess > MAX_PENDING || characters > MAX_PENDING_CHARACTERS)
          characters -= pending[excess++]?.length ?? 0
        pending = pending.slice(excess)
        dropped += excess
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
        characters = 0
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
