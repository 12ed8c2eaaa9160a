import { EARLIEST_MS, parseRfc3339 } from '@waymark/contracts'

const TOLERATED_SKEW_MS = 5_000
/** How far ahead of its receipt an event may say that it happened, in ms. */
const MAX_AHEAD_MS = 24 * 60 * 60 * 1000

/** When an event happened, in ms since the epoch, and why the client's time is not used where it is not. */
export type EventTime = { time: number; problem?: 'invalid' | 'future' | 'past' }

/**
 * When an event happened. The client's time counts, moved by the difference between its clock and ours when `sentAt`
 * shows that it is off by more than 5 s. Where it is unusable, or after that over 24 h ahead of receipt or before the
 * year 1, the time of receipt counts.
 */
export const timeOf = (clientTimestamp: string, sentAt: string | null, receivedAtMs: number): EventTime => {
  const claimed = parseRfc3339(clientTimestamp)
  if (claimed === undefined) return { time: receivedAtMs, problem: 'invalid' }
  const sent = sentAt === null ? undefined : parseRfc3339(sentAt)
  const skew = sent === undefined ? 0 : receivedAtMs - sent
  const time = Math.abs(skew) > TOLERATED_SKEW_MS ? claimed + skew : claimed
  if (time - receivedAtMs > MAX_AHEAD_MS) return { time: receivedAtMs, problem: 'future' }
  if (time < EARLIEST_MS) return { time: receivedAtMs, problem: 'past' }
  return { time }
}

/** The time alone, which is that of receipt when the client gave none. */
export const correctedTime = (
  clientTimestamp: string | null,
  sentAt: string | null,
  receivedAtMs: number,
): number => (clientTimestamp === null ? receivedAtMs : timeOf(clientTimestamp, sentAt, receivedAtMs).time)
