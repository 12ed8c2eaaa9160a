import { setTimeout as sleep } from 'node:timers/promises'

/**
 * Asks again while the answer is 503, as clients do: it says that nothing was done, and on a busy machine it may come
 * although nothing is wrong. Only for tests that are about other things.
 */
export const untilAvailable = async <T extends { status: number }>(ask: () => Promise<T>): Promise<T> => {
  for (;;) {
    const answer = await ask()
    if (answer.status !== 503) return answer
    await sleep(50)
  }
}
