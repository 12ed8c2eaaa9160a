import { setTimeout as sleep } from 'node:timers/promises'

const [MIN_PAUSE_MS, MAX_PAUSE_MS] = [20, 100]

/**
 * Calls `check` until it returns something other than undefined, null or false, and returns that. It is called every 20 ms, and
 * less often later, because most checks take processor time from what they wait for.
 * @throws what `check` last threw, or an error with `what`, after `timeoutMs`
 */
export const eventually = async <T>(
  what: string,
  check: () => Promise<T | undefined | null | false> | T | undefined | null | false,
  timeoutMs = 60_000,
): Promise<T> => {
  const begunAt = Date.now()
  for (let lastError: unknown; ; ) {
    try {
      const answer = await check()
      if (answer !== undefined && answer !== null && answer !== false) return answer
    } catch (error) {
      lastError = error
    }
    const waitedMs = Date.now() - begunAt
    if (waitedMs > timeoutMs) throw lastError ?? new Error(`not within ${timeoutMs} ms: ${what}`)
    await sleep(Math.min(MAX_PAUSE_MS, Math.max(MIN_PAUSE_MS, waitedMs / 10)))
  }
}
