import type { RateLimiter, SharedCounter } from './port.ts'
import { createWindows, type Window, type WindowsOptions } from './windows.ts'

/** `shareEveryMs`: how long uses are collected before they are added to the shared counter. */
export type LocallyCountingOptions = WindowsOptions & { shareEveryMs?: number }

const SHARE_EVERY_MS = 200
/** Most keys that are shared at once. Others are shared when they are next used. */
const MAX_KEYS_AT_ONCE = 2_000

/**
 * A limiter for the hot path. It answers from memory, and adds what it has counted to a shared counter every 200 ms, in
 * one burst of commands. A limit can be exceeded by what other processes allowed within two intervals, and at most by the
 * limit once for each process.
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
