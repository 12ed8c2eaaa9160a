import { setTimeout as sleep } from 'node:timers/promises'

/**
 * Calls `check` every 20 ms until it returns something other than undefined or false, and returns that.
 * @throws what `check` last threw, or an error with `what`, after `timeoutMs`
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
