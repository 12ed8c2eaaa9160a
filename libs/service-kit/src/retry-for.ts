import { setTimeout as sleep } from 'node:timers/promises'
import type { Log } from '@waymark/contracts'

const PAUSE_MS = 1_000

/** How long to try what is waited for, in ms, what that is, for the log, and what ends it sooner. */
export type RetryOptions = { ms: number; what: string; log: Log; signal?: AbortSignal | undefined }

/**
 * Tries until it works, at least once and for no longer than `ms`, since all parts of a system may start at one time.
 * @throws what the last try threw; AbortError when `signal` ended it
 */
export const retryFor = async <T>(
  run: () => Promise<T>,
  { ms, what, log, signal }: RetryOptions,
): Promise<T> => {
  const deadline = performance.now() + ms
  for (;;) {
    try {
      return await run()
    } catch (error) {
      if (performance.now() + PAUSE_MS > deadline) throw error
      const reason = error instanceof Error ? error.message : String(error)
      log.info({ reason }, `Waiting for ${what}`)
      await sleep(PAUSE_MS, undefined, { signal })
    }
  }
}
