/** The delay between attempts and the total time of attempts, in ms. */
export type RetryPlan = { firstMs: number; longestMs: number; giveUpAfterMs: number }

/** Half an hour between later attempts, and a day in total, for servers with greylisting or an outage. */
export const DEFAULT_RETRY_PLAN: RetryPlan = {
  firstMs: 30_000,
  longestMs: 30 * 60_000,
  giveUpAfterMs: 24 * 60 * 60_000,
}

/**
 * The delay before the next attempt, in ms: exponential back-off with jitter of up to half. `undefined` when there is no
 * further attempt.
 * @param attempts attempts so far, 1 or more
 * @param ageMs age of the delivery
 * @param chance 0 to 1
 */
export const nextAttemptIn = (
  { firstMs, longestMs, giveUpAfterMs }: RetryPlan,
  attempts: number,
  ageMs: number,
  chance: number,
): number | undefined => {
  const delay = Math.min(longestMs, firstMs * 2 ** (attempts - 1)) * (1 - chance / 2)
  return ageMs + delay > giveUpAfterMs ? undefined : Math.round(delay)
}
