import type { LiveEventQuery } from '@waymark/contracts/http/events'
import type { Log } from '@waymark/contracts/log'
import { type EventQueries, type PlacedEvent, readEventsAt, viewOf } from '@waymark/event-store'
import { createReadSize } from '../http/read-size.ts'

/** Pause between two polls of a query, in ms. */
const POLL_INTERVAL_MS = 700
/** How long before the newest known event the events of a poll were received at most, in ms: some are stored late. */
const MAX_AGE_MS = 60 * 60 * 1000
/** The number of newest events that a poll compares with the previous poll. */
const NEWEST = 200
/** Skipped events that are counted at most, and places per read. */
const MAX_SKIPPED = 100_000
const PLACES_PER_READ = 10_000
/** Most places that are remembered while polls fail. The count of skipped events is too low when there are more. */
const MAX_KNOWN = 5_000
/** Maximum events per read. */
const EVENTS_PER_READ = 50
/** Maximum events, and characters of their JSON, in the queue of a reader. The oldest ones are dropped. */
const MAX_PENDING = 500
const MAX_PENDING_CHARACTERS = 2 * 1024 * 1024

/** Events that are left out of a stream: how many, and when the first and the last of them were received. */
export type SkippedEvents = { dropped: number; from: Date; to: Date }

/** A reader of events as they are stored. */
export type LiveReader = {
  /** Resolves when there are events, when the reader is closed, or after `ms`. Returns whether it is still open. */
  wait: (ms: number) => Promise<boolean>
  /** The events since the last call as JSON, the oldest first, and those that are missing among them. */
  take: () => { events: string[]; gap: SkippedEvents | undefined }
  close: () => void
}

type Store = Pick<EventQueries, 'readEvents' | 'readPlaces'>
type Deps = { store: Store; log: Log }

/**
 * Polls for new events while there are readers, once for all readers with the same query. It sends stored events only,
 * so a list that is read after the stream has started has no gap to the stream.
 */
export const createLiveEvents = ({ store, log }: Deps) => {
  const tails = new Map<string, Tail>()
  return {
    /** Starts reading. Resolves once every event that is stored from now on will be sent. */
    follow: async (projectId: string, query: LiveEventQuery): Promise<LiveReader> => {
      const key = JSON.stringify([projectId, query.eventName, query.visitorId, query.userId])
      const tail = tails.get(key) ?? createTail({ store, log }, projectId, query, () => tails.delete(key))
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
  { store, log }: Deps,
  projectId: string,
  query: LiveEventQuery,
  onIdle: () => void,
): Tail => {
  const readers = new Set<Queue>()
  /** The newest places of the last poll, and those sent by polls since then that failed. */
  let known: readonly PlacedEvent[] | undefined
  /** Whether there may be events that no poll has read and that are not counted yet. */
  let isUncounted = false
  let timer: NodeJS.Timeout | undefined

  const poll = async (): Promise<void> => {
    const asked = { ...query, projectId }
    const newest = await readNewest(store, asked, known ?? [])
    const fresh = known ? newIn(newest, known) : []
    const before = known
    const oldest = newest.at(-1)
    // Places that both polls have found leave no room for others between them.
    isUncounted ||= before !== undefined && newest.length === NEWEST && !includesPlace(before, oldest)
    const size = createReadSize(EVENTS_PER_READ)
    for (let start = 0; start < fresh.length; ) {
      const places = fresh.slice(start, start + size.records())
      const stored = await readEventsAt(store, projectId, places)
      // Shared by all readers.
      const events = stored.map((event) => ({
        json: JSON.stringify(viewOf(event)),
        receivedAt: new Date(event.receivedAt),
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
      const skipped = await findSkipped(store, asked, { before: oldest, known: before })
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

type Asked = LiveEventQuery & { projectId: string }

/** The places of the newest events. */
const readNewest = async (
  store: Store,
  asked: Asked,
  known: readonly PlacedEvent[],
): Promise<PlacedEvent[]> => {
  const newest: PlacedEvent[] = []
  const now = Date.now()
  // From the newest known event on, because the events of a backlog may be older than that.
  const receivedFrom = (known[0]?.receivedAt ?? now) - MAX_AGE_MS
  // All known places are found by the first statement.
  const firstRangeMs = now - (known.at(-1)?.receivedAt ?? receivedFrom) + 1
  const portion = () => NEWEST - newest.length
  for await (const { places } of store.readPlaces({ ...asked, receivedFrom, firstRangeMs, portion })) {
    newest.push(...places)
    if (newest.length === NEWEST) break
  }
  return newest
}

/**
 * The events that are older than a place, and newer than the oldest of the known places without being one of them. `known`
 * are the newest places of an earlier time.
 */
const findSkipped = async (
  store: Store,
  asked: Asked,
  { before, known }: { before: PlacedEvent; known: readonly PlacedEvent[] },
): Promise<SkippedEvents | undefined> => {
  const keys = new Set(known.map(({ eventKey }) => eventKey))
  const oldest = known.at(-1) ?? { receivedAt: Date.now() - MAX_AGE_MS, eventKey: '' }
  const isBetween = ({ receivedAt, eventKey }: PlacedEvent): boolean =>
    receivedAt > oldest.receivedAt || eventKey > oldest.eventKey
  const times: number[] = []
  const query = { ...asked, below: before, receivedFrom: oldest.receivedAt, portion: () => PLACES_PER_READ }
  for await (const { places } of store.readPlaces(query)) {
    for (const place of places)
      if (isBetween(place) && !keys.has(place.eventKey)) times.push(place.receivedAt)
    if (times.length >= MAX_SKIPPED) break
  }
  const to = times[0]
  const from = times.slice(0, MAX_SKIPPED).at(-1)
  if (from === undefined || to === undefined) return undefined
  return { dropped: Math.min(times.length, MAX_SKIPPED), from: new Date(from), to: new Date(to) }
}

const includesPlace = (places: readonly PlacedEvent[], place: PlacedEvent | undefined): boolean =>
  places.some(({ eventKey }) => eventKey === place?.eventKey)

/** The places that were not in the previous poll, the oldest first. */
const newIn = (newest: readonly PlacedEvent[], before: readonly PlacedEvent[]): PlacedEvent[] => {
  const keys = new Set(before.map(({ eventKey }) => eventKey))
  // When newer events are erased, older ones move into the range again.
  const oldest = before.length >= NEWEST ? (before.at(-1)?.receivedAt ?? 0) : 0
  return newest.filter(({ eventKey, receivedAt }) => !keys.has(eventKey) && receivedAt >= oldest).reverse()
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
