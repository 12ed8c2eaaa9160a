import { LRUCache } from 'lru-cache'
import type { RateLimitedUse, RateLimitResult, SharedCounter } from './port.ts'

/** A running window as this process knows it. */
export type Window = {
  readonly name: string
  readonly windowMs: number
  /** Uses so far, of all processes as far as known. */
  used: number
  /** Uses of this process that were not added to the shared counter yet. */
  unshared: number
  /** By the clock of `Windows`, in ms. */
  endsAt: number
}

/** `now` is in ms from anywhere; beyond `maxKeys` the keys that were used least recently are forgotten. */
export type WindowsOptions = { maxKeys?: number; now?: () => number }

const MAX_KEYS = 50_000

/** The windows that this process knows of. Limiters differ in what they share, and when. */
export const createWindows = ({ maxKeys = MAX_KEYS, now = () => performance.now() }: WindowsOptions = {}) => {
  // Allocated at the first use: it takes 5 MB, and many processes limit nothing.
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

    /** The running window that a use falls into. */
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

    /** Counts a use if, by what this process knows, there is one left. */
    use: (window: Window, limit: number): RateLimitResult => {
      const allowed = window.used < limit
      if (allowed) {
        window.used += 1
        window.unshared += 1
      }
      return resultOf(window, limit, allowed)
    },

    /**
     * Adds the uses of a window that are not shared yet to `counter`, and takes over its count and its end. Returns that
     * count, or undefined when the counter does not answer. While it is not ready, the uses are kept for later.
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
