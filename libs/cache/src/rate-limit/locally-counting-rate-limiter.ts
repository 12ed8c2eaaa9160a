import type { RateLimiter, SharedCounter } from './port.ts'
import { createWindows, type Window, type WindowsOptions } from './windows.ts'

/** `shareEveryMs`: how long uses are gathered before others are told of them. */
export type LocallyCountingOptions = WindowsOptions & { shareEveryMs?: number }

const SHARE_EVERY_MS = 200
/** Keys told at once; others are told when they are next used, so that no burst of clients holds up the process. */
const MAX_KEYS_AT_ONCE = 2_000

/**
 * A limiter for the hot path: it answers from memory at once and tells a shared counter every 200 ms, in one
 * burst of commands, what it has counted. What it may allow too much is what the other processes allowed that
 * it has not heard of: their uses of two intervals, and never more than the limit once for each process.
 */
export const createLocallyCountingRateLimiter = (
  counter: SharedCounter,
  { shareEveryMs = SHARE_EVERY_MS, ...options }: LocallyCountingOptions = {},
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
