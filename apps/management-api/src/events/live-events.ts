import type { LiveEventQuery } from '@waymark/contracts/http/events'
import type { Log } from '@waymark/contracts/log'
import { eventView } from '@waymark/pipeline'
import type { Pool } from 'pg'
import { createReadSize } from '../http/read-size.ts'
import {
  type EventCursor,
  readEventsAt,
  readNewestPlaces,
  type SkippedEvents,
  skippedEvents,
} from './event-queries.ts'

/** Pause between two polls of a query, in ms. */
const POLL_INTERVAL_MS = 700
/** The number of newest events that a poll compares with the previous poll. */
const NEWEST = 200
/** Most places that are remembered while polls fail. The count of skipped events is too low when there are more. */
const MAX_KNOWN = 5_000
/** Maximum events per read. */
const EVENTS_PER_READ = 50
/** Maximum events, and characters of their JSON, in the queue of a reader. The oldest ones are dropped. */
const MAX_PENDING = 500
const MAX_PENDING_CHARACTERS = 2 * 1024 * 1024

/** A reader of events as they are stored. */
export type LiveReader = {
  /** Resolves when there are events, when the reader is closed, or after `ms`. Returns whether it is still open. */
  wait: (ms: number) => Promise<boolean>
  /** The events since the last call as JSON, the oldest first, and those that are missing among them. */
  take: () => { events: string[]; gap: SkippedEvents | undefined }
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
/** An event as JSON, with the time of its receipt. */
type LiveEvent = { json: string; receivedAt: Date }
type Queue = {
  add: (events: readonly LiveEvent[]) => void
  /** Adds events that no poll has read. */
  skip: (skipped: SkippedEvents) => void
}

const createTail = (
  { pool, log }: Deps,
  projectId: string,
  query: LiveEventQuery,
  onIdle: () => void,
): Tail => {
  const readers = new Set<Queue>()
  /** The newest places of the last poll, and those sent by polls since then that failed. */
  let known: readonly EventCursor[] | undefined
  /** Whether there may be events that no poll has read and that are not counted yet. */
  let isUncounted = false
  let timer: NodeJS.Timeout | undefined

  const poll = async (): Promise<void> => {
    const asked = { ...query, filters: [] }
    const newest = await readNewestPlaces(pool, projectId, asked, NEWEST)
    const fresh = known ? newIn(newest, known) : []
    const before = known
    const oldest = newest.at(-1)
    // Places that both polls have found leave no room for others between them.
    isUncounted ||= before !== undefined && newest.length === NEWEST && !includesPlace(before, oldest)
    const size = createReadSize(EVENTS_PER_READ)
    for (let start = 0; start < fresh.length; ) {
      const places = fresh.slice(start, start + size.records())
      const rows = await readEventsAt(pool, projectId, places)
      // Shared by all readers.
      const events = rows.map((row) => ({
        json: JSON.stringify(eventView(row)),
        receivedAt: row.received_at,
      }))
      for (const reader of readers) reader.add(events)
      size.note(
        events.length,
        events.reduce((sum, { json }) => sum + json.length, 0),
      )
      start += places.length
      // When the next read fails, these must not be sent again.
      known = [...places, ...(known ?? [])].slice(0, MAX_KNOWN)
    }
    if (isUncounted && before && oldest) {
      const skipped = await skippedEvents(pool, projectId, asked, { before: oldest, known: before })
      if (skipped) for (const reader of readers) reader.skip(skipped)
    }
    isUncounted = false
    known = newest
  }
  const pollAgain = async (): Promise<void> => {
    try {
      await poll()
    } catch (error) {
      log.debug({ err: error, projectId }, 'Live events could not be read; retrying')
    }
    timer = readers.size > 0 ? setTimeout(() => void pollAgain(), POLL_INTERVAL_MS) : undefined
    if (!timer) onIdle()
  }
  let first: Promise<void> | undefined
  const startPolling = (): Promise<void> => {
    first ??= poll().then(() => {
      timer = setTimeout(() => void pollAgain(), POLL_INTERVAL_MS)
    })
    return first
  }

  return {
    join: async () => {
      const { queue, reader } = createReader(() => readers.delete(queue))
      readers.add(queue)
      try {
        await startPolling()
      } catch (error) {
        reader.close()
        if (readers.size === 0) onIdle()
        throw error
      }
      return reader
    },
  }
}

const includesPlace = (places: readonly EventCursor[], place: EventCursor | undefined): boolean =>
  places.some(({ eventKey }) => eventKey === place?.eventKey)

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
  let pending: LiveEvent[] = []
  let characters = 0
  let gap: SkippedEvents | undefined
  let closed = false
  let wake = (): void => {}
  return {
    queue: {
      add: (events) => {
        pending.push(...events)
        for (const { json } of events) characters += json.length
        let excess = 0
        while (pending.length - excess > MAX_PENDING || characters > MAX_PENDING_CHARACTERS)
          characters -= pending[excess++]?.json.length ?? 0
        gap = merge(gap, gapOf(pending.splice(0, excess)))
        wake()
      },
      skip: (skipped) => {
        gap = merge(gap, skipped)
        wake()
      },
    },
    reader: {
      wait: async (ms) => {
        if (pending.length > 0 || gap || closed) return !closed
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
        const taken = { events: pending.map(({ json }) => json), gap }
        pending = []
        characters = 0
        gap = undefined
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

const gapOf = (events: readonly LiveEvent[]): SkippedEvents | undefined => {
  const [first] = events
  const last = events.at(-1)
  return first && last && { dropped: events.length, from: first.receivedAt, to: last.receivedAt }
}

const merge = (
  one: SkippedEvents | undefined,
  other: SkippedEvents | undefined,
): SkippedEvents | undefined => {
  if (!one || !other) return one ?? other
  return {
    dropped: one.dropped + other.dropped,
    from: one.from < other.from ? one.from : other.from,
    to: one.to > other.to ? one.to : other.to,
  }
}
