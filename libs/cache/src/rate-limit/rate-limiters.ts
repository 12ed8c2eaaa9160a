import type { RateLimiter, SharedCounter } from './port.ts'
import { createWindows, type Window, type WindowsOptions } from './windows.ts'

/** A limiter for a single process. */
export const createMemoryRateLimiter = (options: WindowsOptions = {}): RateLimiter => {
  const { windowOf, use } = createWindows(options)
  return {
    consume: async (wanted) => use(windowOf(wanted), wanted.limit),
    close: async () => {},
  }
}

/**
 * An exact limiter: it asks a shared counter for each use. A key that is known to be used up is refused without asking.
 * While the counter does not answer, each process counts on from what it knows, and may allow up to the limit.
 */
export const createSharedRateLimiter = (
  counter: SharedCounter,
  options: WindowsOptions = {},
): RateLimiter => {
  const { windowOf, use, share, resultOf } = createWindows(options)
  return {
    consume: async (wanted) => {
      const window = windowOf(wanted)
      const local = use(window, wanted.limit)
      if (!local.allowed) return local
      const used = await share(window, counter)
      return used === undefined
        ? { ...local, localOnly: true }
        : resultOf(window, wanted.limit, used <= wanted.limit)
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
  const { windowOf, use, share, isOver } = createWindows(options)
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

  return {
    consume: async (wanted) => {
      const window = windowOf(wanted)
      const result = use(window, wanted.limit)
      if (result.allowed && toShare.size < MAX_KEYS_AT_ONCE) {
        toShare.add(window)
        shareSoon()
      }
      return result
    },
    close: async () => {
      await sharing
      clearTimeout(timer)
      await shareAll()
    },
  }
}
