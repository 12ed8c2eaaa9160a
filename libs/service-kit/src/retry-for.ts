import { setTimeout as sleep } from 'node:timers/promises'
import type { Log } from '@waymark/contracts/log'

const PAUSE_MS = 1_000

/** A reason that stays the same is logged again after this many ms. */
const LOG_INTERVAL_MS = 60_000

type RetryOptions = {
  ms: number
  /** Names the dependency in log lines. */
  what: string
  log: Log
  signal?: AbortSignal | undefined
  /** Errors that are waited for without limit, unless `ms` is 0. The time begins again after each. */
  isWithoutLimit?: (error: unknown) => boolean
}

/**
 * Calls `run` until it succeeds, at least once and for at most `ms`, because dependencies may start at the same time.
 * @throws what the last call threw; AbortError when `signal` aborts
 */
export const retryFor = async <T>(
  run: () => Promise<T>,
  { ms, what, log, signal, isWithoutLimit = () => false }: RetryOptions,
): Promise<T> => {
  let deadline = performance.now() + ms
  let logged = { reason: '', at: 0 }
  for (;;) {
    try {
      return await run()
    } catch (error) {
      const now = performance.now()
      if (ms > 0 && isWithoutLimit(error)) deadline = now + ms
      else if (now + PAUSE_MS > deadline) throw error
      const reason = error instanceof Error ? error.message : String(error)
      if (reason !== logged.reason || now > logged.at + LOG_INTERVAL_MS) {
        log.info({ reason }, `Waiting for ${what}`)
        logged = { reason, at: now }
      }
      await sleep(PAUSE_MS, undefined, { signal })
    }
  }
}
