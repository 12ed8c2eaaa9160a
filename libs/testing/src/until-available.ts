import { setTimeout as sleep } from 'node:timers/promises'

/**
 * A service that stays unavailable for longer, in ms, has a fault. Also the deadline of requests that may be repeated: after
 * the usual one, the outcome would be unknown.
 */
export const PATIENCE_MS = 60_000

/**
 * Repeats a request while the response is 503, as clients do: nothing was done, and on a busy machine a 503 is no
 * fault.
 * Only for tests of other behaviour. Returns a 503 after a minute.
 */
export const untilAvailable = async <T extends { status: number }>(ask: () => Promise<T>): Promise<T> => {
  for (const startedAt = performance.now(); ; ) {
    const answer = await ask()
    if (answer.status !== 503 || performance.now() - startedAt > PATIENCE_MS) return answer
    await sleep(50)
  }
}
