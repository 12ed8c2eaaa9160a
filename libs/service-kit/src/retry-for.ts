import { setTimeout as sleep } from 'node:timers/promises'
import type { Log } from '@waymark/contracts'

const PAUSE_MS = 1_000

/**
 * Tries until it works, at least once and for no longer than `ms`, since all parts of a system may start at one time.
 * @param what is waited for, for the log
 * @throws what the last try threw
 */
export const retryFor = async <T>(ms: number, what: string, run: () => Promise<T>, log: Log): Promise<T> => {
  const deadline = performance.now() + ms
  for (;;) {
    try {
      return await run()
    } catch (error) {
      if (performance.now() + PAUSE_MS > deadline) throw error
      const reason = error instanceof Error ? error.message : String(error)
      log.info({ reason }, `waiting for ${what}`)
      await sleep(PAUSE_MS)
    }
  }
}
