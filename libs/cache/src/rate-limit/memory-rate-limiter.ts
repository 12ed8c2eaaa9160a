import type { RateLimiter } from './port.ts'
import { createWindows, type WindowsOptions } from './windows.ts'

/** A limiter for a single process. Of more than `maxKeys` keys (50,000) it forgets those used least recently. */
export const createMemoryRateLimiter = (options: WindowsOptions = {}): RateLimiter => {
  const { windowOf, use } = createWindows(options)
  return {
    consume: async (wanted) => use(windowOf(wanted), wanted.limit),
    close: async () => {},
  }
}
