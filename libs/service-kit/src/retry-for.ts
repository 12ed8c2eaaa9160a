import { setTimeout as sleep } from 'node:timers/promises'
import type { Log } from '@waymark/contracts'

const PAUSE_MS = 1_000

/** `what` names the dependency in log lines. */
type RetryOptions = { ms: number; what: string; log: Log; signal?: AbortSignal | undefined }

/**
 * Calls `run` until it succeeds, at least once and for at most `ms`, because dependencies may start at the same time.
 * @throws what the last call threw; AbortError when `signal` aborts
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
