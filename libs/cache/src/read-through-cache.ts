import { storeUnavailable } from '@waymark/contracts/app-error'
import type { Log } from '@waymark/contracts/log'
import { CACHE_READ_TIMEOUT_MS } from '@waymark/contracts/request-budget'
import { within } from '@waymark/contracts/within'
import { LRUCache } from 'lru-cache'

/** A cached value. `readAt` is when it was read, in ms by the cache's clock, or `-Infinity` when that is unknown. */
export type CachedValue<V> = {
  value: V
  readAt: number
  /** The error of the last read, when that failed or made the cache use a copy. */
  error?: unknown
}

/** A value as a store returns it. `readAt` is set when another process read it earlier, in ms by the cache's clock. */
export type ReadValue<V> = { value: V; readAt?: number }

/** Times in ms. */
export type ReadThroughCacheOptions<V, Context extends unknown[] = []> = {
  /** Name of the cache in log lines. */
  name: string
  /** Reads the value, `null` when there is none. Rejects when the store does not answer. */
  read: (key: string, ...context: Context) => Promise<ReadValue<V> | null>
  /** Reads a copy of any age. Used when the store does not answer and no value is cached. */
  readCopy?: (key: string, ...context: Context) => Promise<ReadValue<V> | null>
  /** Whether a value that was read at `readAt` is known to be up to date. Others are read again. */
  isCurrent: (value: V, readAt: number) => boolean
  /** Whether `get` returns an outdated value at once and reads it again in the background. */
  staleWhileRefreshing?: boolean
  /** How long after its read a value may be used while the store does not answer (unlimited). */
  maxStaleMs?: number
  /** How long a read may take when a cached value can be used instead (1,000). */
  refreshTimeoutMs?: number
  /** How long a read may take when no value is cached (3,500). */
  readTimeoutMs?: number
  /** Most values. */
  max: number
  /** Most keys that are known to have no value (10,000). */
  maxMissing?: number
  /** A monotonic clock in ms. */
  now: () => number
  /** Where failed reads are logged, unless `read` does so. */
  log?: Log
}

type Entry<V> = CachedValue<V> & { usableUntil: number; retryAt: number }

const REFRESH_TIMEOUT_MS = 1_000
/** After a failed read, the same key is not read again for this long. */
const RETRY_COOLDOWN_MS = 1_000
/** How long a key is known to have no value. */
const NEGATIVE_TTL_MS = 2_000
const RETRY_AFTER_S = 5

// Rejecting a fetch makes the LRU delete the entry of the key.
const NOT_FOUND = new Error('not found')

/**
 * Reads values through memory. Callers that need the same key at the same time share one read. While the store does not
 * answer, the cached value is used for up to `maxStaleMs`, and each key is tried at most once a second.
 */
export const createReadThroughCache = <V extends object, Context extends unknown[] = []>({
  name,
  read,
  readCopy = async () => null,
  isCurrent,
  staleWhileRefreshing = false,
  maxStaleMs = Number.POSITIVE_INFINITY,
  refreshTimeoutMs = REFRESH_TIMEOUT_MS,
  readTimeoutMs = CACHE_READ_TIMEOUT_MS,
  max,
  maxMissing = 10_000,
  now,
  log,
}: ReadThroughCacheOptions<V, Context>) => {
  const missing = new LRUCache<string, true>({
    max: maxMissing,
    // The LRU keeps an entry up to and including its ttl.
    ttl: NEGATIVE_TTL_MS - 1,
    ttlResolution: 0,
    perf: { now },
  })

  const toEntry = ({ value, readAt }: ReadValue<V>, startedAt: number): Entry<V> => ({
    value,
    readAt: readAt ?? startedAt,
    usableUntil: startedAt + maxStaleMs,
    retryAt: 0,
  })

  const copyOrThrow = async (
    key: string,
    context: Context,
    { error, startedAt }: { error: unknown; startedAt: number },
  ): Promise<Entry<V>> => {
    const copy = await readCopy(key, ...context).catch(() => null)
    if (copy === null) throw storeUnavailable(error, RETRY_AFTER_S)
    const entry = toEntry({ readAt: Number.NEGATIVE_INFINITY, ...copy }, startedAt)
    return Object.assign(entry, { error, retryAt: now() + RETRY_COOLDOWN_MS })
  }

  const entries = new LRUCache<string, Entry<V>>({
    max,
    // A read whose entry is evicted or replaced still resolves for its callers.
    ignoreFetchAbort: true,
    fetchMethod: async (key, known, { options, context: given }) => {
      // Only `fetch` below passes one.
      const context = given as Context
      const startedAt = now()
      const stale = known !== undefined && startedAt < known.usableUntil ? known : undefined
      const timeoutMs = stale ? refreshTimeoutMs : readTimeoutMs
      let found: ReadValue<V> | null
      try {
        found = await within(
          timeoutMs,
          read(key, ...context),
          () => new Error(`No answer within ${timeoutMs} ms`),
        )
      } catch (error) {
        log?.warn(
          { err: error, cache: name, stale: stale !== undefined },
          'Read failed; using a cached value',
        )
        if (!stale) return copyOrThrow(key, context, { error, startedAt })
        stale.error = error
        // From now, because a read that timed out has taken this long already.
        stale.retryAt = now() + RETRY_COOLDOWN_MS
        options.allowStaleOnFetchRejection = true
        throw error
      }
      if (found !== null) return toEntry(found, startedAt)
      missing.set(key, true, { start: startedAt })
      throw NOT_FOUND
    },
  })

  const peek = (key: string): Entry<V> | undefined => entries.get(key)
  const isUsable = (entry: Entry<V>): boolean =>
    isCurrent(entry.value, entry.readAt) || isCoolingDown(entry, now())

  const fetch = async (key: string, context: Context, allowStale = false) => {
    const status: LRUCache.Status<string, Entry<V>> = {}
    const entry = await entries
      .fetch(key, { context, forceRefresh: true, allowStale, status })
      .catch((error: unknown) => {
        if (error === NOT_FOUND) return undefined
        throw error
      })
    return { entry: entry ?? null, joined: status.fetch === 'inflight' }
  }

  return {
    /**
     * The value, or `null` when there is none.
     * @throws AppError store_unavailable when no store answers and nothing usable is cached
     */
    get: async (key: string, ...context: Context): Promise<CachedValue<V> | null> => {
      const known = peek(key)
      if (known !== undefined && isUsable(known)) return known
      if (known === undefined && missing.has(key)) return null
      const { entry, joined } = await fetch(key, context, staleWhileRefreshing)
      // The value may have changed after the start of the read that this call joined.
      const isOutdated = joined && !staleWhileRefreshing && entry !== null && !isUsable(entry)
      return isOutdated ? (await fetch(key, context)).entry : entry
    },
    /**
     * Reads the value again, without joining a read that is in flight. When the store does not answer, the result is the
     * cached value with `error`.
     * @throws as `get`
     */
    getLatest: async (key: string, ...context: Context): Promise<CachedValue<V> | null> => {
      const known = peek(key)
      if (known) entries.set(key, known)
      else entries.delete(key)
      return (await fetch(key, context)).entry
    },
    /** The cached value, of any age. */
    peek: (key: string): CachedValue<V> | undefined => peek(key),
    /** Caches a value that was read at `readAt`, unless a newer one is cached. */
    set: (key: string, value: V, readAt: number): void => {
      if ((peek(key)?.readAt ?? readAt) <= readAt) entries.set(key, toEntry({ value, readAt }, readAt))
    },
  }
}

const isCoolingDown = ({ retryAt, usableUntil }: Entry<object>, time: number): boolean =>
  time < retryAt && time < usableUntil
