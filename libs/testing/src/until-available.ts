import { setTimeout as sleep } from 'node:timers/promises'

/**
 * Repeats a request while the response is 503, as clients do: nothing was done, and on a busy machine a 503 is no
 * fault.
 * Only for tests of other behaviour.
 */
export const untilAvailable = async <T extends { status: number }>(ask: () => Promise<T>): Promise<T> => {
  for (;;) {
    const answer = await ask()
    if (answer.status !== 503) return answer
    await sleep(50)
  }
}
