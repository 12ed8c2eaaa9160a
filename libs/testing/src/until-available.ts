import { setTimeout as sleep } from 'node:timers/promises'

/**
 * A service that stays unavailable for longer, in ms, has a fault. Also the deadline of requests that may be repeated: after
 * the usual one, the outcome would be unknown.
 */
export const PATIENCE_MS = 60_000

/**
 * Repeats a request while the response is 503, as clients do: nothing was done, and on a busy machine a 503 is no
 * fault. With `refusals`, also while it has one of these statuses, such as 429 for many requests of one tenant at once.
 * Only for tests of other behaviour. Returns such a response after a minute.
 */
export const untilAvailable = async <T extends { status: number }>(
  ask: () => Promise<T>,
  refusals: readonly number[] = [],
): Promise<T> => {
  for (const startedAt = performance.now(); ; ) {
    const answer = await ask()
    const isRefused = answer.status === 503 || refusals.includes(answer.status)
    if (!isRefused || performance.now() - startedAt > PATIENCE_MS) return answer
    await sleep(50)
  }
}
