import type { RateLimiter, SharedCounter } from './port.ts'
import { createWindows, type WindowsOptions } from './windows.ts'

/**
 * A limiter that asks a shared counter for each use, so that a limit is exact across processes. A key that is known to be
 * used up is refused without asking. While the counter does not answer, this process continues from the count that it
 * knows, so that each process may allow up to the limit.
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
