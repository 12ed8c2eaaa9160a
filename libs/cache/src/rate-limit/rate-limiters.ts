import { LRUCache } from 'lru-cache'
import type { RateLimitedUse, RateLimiter, RateLimitResult, SharedCounter } from './port.ts'

/** A window by the counts of this process. */
type Window = {
  readonly name: string
  readonly windowMs: number
  /** Uses so far, including the known ones of other processes. */
  used: number
  /** Uses that this process has not added to the shared counter yet. */
  unshared: number
  /** In ms by `now` of `createWindows`. */
  endsAt: number
}

/** `now` is a monotonic clock in ms. Beyond `maxKeys` (50,000) the least recently used keys are dropped. */
type WindowsOptions = { maxKeys?: number; now?: () => number }

const MAX_KEYS = 50_000

/** The windows in this process, for the limiters to use and share. */
const createWindows = ({ maxKeys = MAX_KEYS, now = () => performance.now() }: WindowsOptions = {}) => {
  // Allocated on first use, since it takes 5 MB and many processes have no limits.
  let allocated: LRUCache<string, Window> | undefined
  const knownWindows = (): LRUCache<string, Window> => {
    allocated ??= new LRUCache({ max: maxKeys })
    return allocated
  }

  const isOver = (window: Window): boolean => window.endsAt <= now()

  const resultOf = (window: Window, limit: number, allowed: boolean): RateLimitResult => ({
    allowed,
    limit,
    remaining: Math.max(0, limit - window.used),
    resetMs: Math.max(0, window.endsAt - now()),
  })

  return {
    isOver,
    resultOf,

    /** The current window of a use. */
    windowOf: ({ bucket, key, windowMs }: RateLimitedUse): Window => {
      const name = `${bucket}:${key}`
      const windows = knownWindows()
      const known = windows.get(name)
      if (known && !isOver(known)) return known
      const wholeSeconds = Math.ceil(windowMs / 1000) * 1000
      const window = { name, windowMs: wholeSeconds, used: 0, unshared: 0, endsAt: now() + wholeSeconds }
      windows.set(name, window)
      return window
    },

    /** Counts a use if all of it remains by the counts of this process. */
    use: (window: Window, { limit, uses = 1 }: RateLimitedUse): RateLimitResult => {
      const allowed = window.used + uses <= limit
      if (allowed) {
        window.used += uses
        window.unshared += uses
      }
      return resultOf(window, limit, allowed)
    },

    /** Takes back a use of a window that has not ended meanwhile. Returns whether that changed its count. */
    giveBack: (window: Window, { uses = 1 }: RateLimitedUse): boolean => {
      const counted = Math.min(uses, window.used)
      window.used -= counted
      window.unshared -= counted
      return counted > 0
    },

    /**
     * Adds the unshared uses of a window to `counter` and takes over its count and end. Returns that count, or undefined
     * when the counter does not answer. While it is not ready, the uses remain unshared.
     */
    share: async (window: Window, counter: SharedCounter): Promise<number | undefined> => {
      if (!counter.isReady()) return undefined
      const uses = window.unshared
      window.unshared = 0
      const shared = await counter.add(window.name, uses, window.windowMs)
      if (!shared) return undefined
      window.used = shared.used + window.unshared
      window.endsAt = now() + shared.resetMs
      return shared.used
    },
  }
}

/** A limiter for a single process. */
export const createMemoryRateLimiter = (options: WindowsOptions = {}): RateLimiter => {
  const { windowOf, use, giveBack } = createWindows(options)
  return {
    consume: async (wanted) => use(windowOf(wanted), wanted),
    giveBack: async (wanted) => void giveBack(windowOf(wanted), wanted),
    close: async () => {},
  }
}

/**
 * An exact limiter: it counts each use in a shared counter. A key that is known to be used up is refused without asking.
 * While the counter does not answer, each process continues from its own counts, and may allow up to the limit.
 */
export const createSharedRateLimiter = (
  counter: SharedCounter,
  options: WindowsOptions = {},
): RateLimiter => {
  const { windowOf, use, giveBack, share, resultOf } = createWindows(options)
  return {
    consume: async (wanted) => {
      const window = windowOf(wanted)
      const local = use(window, wanted)
      if (!local.allowed) return local
      const used = await share(window, counter)
      if (used === undefined) return { ...local, localOnly: true }
      if (used <= wanted.limit) return resultOf(window, wanted.limit, true)
      // Other processes have used it meanwhile. What was not allowed must not count.
      giveBack(window, wanted)
      await share(window, counter)
      return resultOf(window, wanted.limit, false)
    },
    giveBack: async (wanted) => {
      const window = windowOf(wanted)
      if (giveBack(window, wanted)) await share(window, counter)
    },
    close: async () => {},
  }
}

const SHARE_EVERY_MS = 200
/** Most keys that are shared at once. Others are shared when they are next used. */
const MAX_KEYS_AT_ONCE = 2_000

/**
 * A limiter for the hot path. It answers from memory and adds its counts to a shared counter every `shareEveryMs` (200).
 * A limit may be exceeded by what other processes allow within two intervals, and at most by the limit for each process.
 */
export const createLocallyCountingRateLimiter = (
  counter: SharedCounter,
  { shareEveryMs = SHARE_EVERY_MS, ...options }: WindowsOptions & { shareEveryMs?: number } = {},
): RateLimiter => {
  const { windowOf, use, giveBack, share, isOver } = createWindows(options)
  const toShare = new Set<Window>()
  let timer: NodeJS.Timeout | undefined
  let sharing: Promise<void> | undefined

  const shareAll = async (): Promise<void> => {
    const windows = [...toShare].filter((window) => !isOver(window))
    toShare.clear()
    await Promise.all(windows.map((window) => share(window, counter)))
  }
  const shareSoon = (): void => {
    timer ??= setTimeout(() => {
      sharing = shareAll().then(() => {
        timer = undefined
        if (toShare.size > 0) shareSoon()
      })
    }, shareEveryMs).unref()
  }

  const noteChange = (window: Window): void => {
    if (toShare.size >= MAX_KEYS_AT_ONCE) return
    toShare.add(window)
    shareSoon()
  }

  return {
    consume: async (wanted) => {
      const window = windowOf(wanted)
      const result = use(window, wanted)
      if (result.allowed) noteChange(window)
      return result
    },
    giveBack: async (wanted) => {
      const window = windowOf(wanted)
      if (giveBack(window, wanted)) noteChange(window)
    },
    close: async () => {
      await sharing
      clearTimeout(timer)
      await shareAll()
    },
  }
}
