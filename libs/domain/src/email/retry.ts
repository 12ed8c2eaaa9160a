/** How long a delivery waits between attempts, and how long it is tried at all, in ms. */
export type RetryPlan = { firstMs: number; longestMs: number; giveUpAfterMs: number }

/** Half an hour between later attempts, a day in all: what senders that greylist or are down for a while need. */
export const DEFAULT_RETRY_PLAN: RetryPlan = {
  firstMs: 30_000,
  longestMs: 30 * 60_000,
  giveUpAfterMs: 24 * 60 * 60_000,
}

/**
 * After how many ms the next attempt follows: doubling from one to the next, less up to half of it by chance, so that
 * deliveries which failed together do not come back together. `undefined` when it is not worth another attempt.
 * @param attempts attempts made, 1 or more
 * @param ageMs since the delivery was decided
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
