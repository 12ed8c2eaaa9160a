import { AppError, type Log } from '@waymark/contracts'
import { LRUCache } from 'lru-cache'
import pTimeout from 'p-timeout'

/** How long something that was valid is trusted while no store can be asked, in ms. */
const STALE_IF_ERROR_MS = 5 * 60_000
/** While stores are away, each of them is asked again at most this often per entry, in ms. */
const RETRY_MS = 1_000
/** How long it is believed that something does not exist, in ms. */
const NEGATIVE_MS = 2_000
/** How long a read may take when there is something remembered to fall back to, and when there is not, in ms. */
const HASTY_MS = 1_000
const PATIENT_MS = 3_500
const MAX_UNKNOWN = 10_000
const RETRY_AFTER_S = 5

/** `copied`: it is older than it was read, by nobody knows how much. */
type Entry<V> = { value: V; readAt: number; triedAt: number; copied?: true }

/** What a remembering reader is made of. */
export type RememberedOptions<V> = {
  /** Reads the value, `null` when there is none. Rejects when the store is away. */
  read: (key: string) => Promise<V | null>
  /** Reads a copy that may be minutes old, for a process that has none itself while the store is away. */
  readCopy: (key: string) => Promise<V | null>
  /** Whether a value read at `readAt` (ms) is known to be true still. */
  isCurrent: (value: V, readAt: number) => boolean
  max: number
  now: () => number
  log: Log
}

/**
 * Reads through memory: what is current costs nothing, what may have changed is read again, by one read for all who
 * ask at that moment. While the store is away, what was read within 5 minutes counts.
 */
export const createRemembered = <V extends object>({
  read,
  readCopy,
  isCurrent,
  max,
  now,
  log,
}: RememberedOptions<V>) => {
  const entries = new LRUCache<string, Entry<V>>({ max })
  const unknown = new LRUCache<string, number>({ max: MAX_UNKNOWN })
  const reading = new Map<string, Promise<V | null>>()

  const readOnce = (key: string): Promise<V | null> => {
    const underWay = reading.get(key)
    if (underWay !== undefined) return underWay
    const fresh = readAndKeep(key).finally(() => reading.delete(key))
    reading.set(key, fresh)
    return fresh
  }

  const readAndKeep = async (key: string): Promise<V | null> => {
    const readAt = now()
    try {
      // Whoever has something to fall back to does not wait for a store that hangs.
      const milliseconds = entries.has(key) ? HASTY_MS : PATIENT_MS
      const value = await pTimeout(read(key), { milliseconds })
      if (value) entries.set(key, { value, readAt, triedAt: readAt })
      else {
        entries.delete(key)
        unknown.set(key, readAt)
      }
      return value
    } catch (error) {
      return orStale(key, readAt, error)
    }
  }

  const orStale = async (key: string, triedAt: number, error: unknown): Promise<V> => {
    const entry = entries.get(key)
    if (entry && triedAt - entry.readAt < STALE_IF_ERROR_MS) {
      log.warn({ err: error }, 'the configuration cannot be read; what is remembered counts')
      entry.triedAt = triedAt
      return entry.value
    }
    const copy = await readCopy(key).catch(() => null)
    if (copy) {
      entries.set(key, { value: copy, readAt: triedAt, triedAt, copied: true })
      return copy
    }
    throw new AppError(
      'store_unavailable',
      'STORE_UNAVAILABLE',
      { retryAfter: RETRY_AFTER_S },
      { cause: error },
    )
  }

  return {
    /**
     * The value, or `null` when there is none.
     * @throws AppError store_unavailable when nobody can tell
     */
    get: (key: string): V | null | Promise<V | null> => {
      const entry = entries.get(key)
      const current = entry && !entry.copied && isCurrent(entry.value, entry.readAt)
      if (entry && (current || isBeingSpared(entry, now()))) return entry.value
      const unknownSince = unknown.get(key)
      if (!entry && unknownSince !== undefined && now() - unknownSince < NEGATIVE_MS) return null
      return readOnce(key)
    },
    /**
     * The value as it is after every change that was answered before; what is remembered only if the store is away.
     * @throws AppError store_unavailable when nobody can tell
     */
    getLatest: readAndKeep,
  }
}

// A read failed a moment ago: the next caller does not wait for another failure.
const isBeingSpared = ({ readAt, triedAt, copied }: Entry<object>, time: number): boolean =>
  (copied || triedAt > readAt) && time - triedAt < RETRY_MS && time - readAt < STALE_IF_ERROR_MS
