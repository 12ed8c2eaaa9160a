import { setTimeout as sleep } from 'node:timers/promises'

/**
 * Asks again every 20 ms until `check` answers something other than undefined or false, and answers that.
 * A short `timeoutMs` is for what is promised to come in time; what merely has to come may take a minute on a busy machine.
 * @throws what `check` last threw, or an error naming `what`, after `timeoutMs`
 */
export const eventually = async <T>(
  what: string,
  check: () => Promise<T | undefined | false> | T | undefined | false,
  timeoutMs = 60_000,
): Promise<T> => {
  const deadline = Date.now() + timeoutMs
  for (let lastError: unknown; ; ) {
    try {
      const answer = await check()
      if (answer !== undefined && answer !== false) return answer
    } catch (error) {
      lastError = error
    }
    if (Date.now() > deadline) throw lastError ?? new Error(`not within ${timeoutMs} ms: ${what}`)
    await sleep(20)
  }
}
