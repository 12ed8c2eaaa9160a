import { EARLIEST_MS, parseRfc3339 } from '@waymark/contracts/rfc3339'

const TOLERATED_SKEW_MS = 5_000
/** How far the time of an event may be after its receipt, in ms. */
const MAX_AHEAD_MS = 24 * 60 * 60 * 1000

/** The time of an event in ms since the epoch, and a warning when the client's time is not used. */
type EventTime = { time: number; problem?: 'invalid' | 'future' | 'past' }

/**
 * The time of an event. It is the client's time, corrected by the offset of its clock if `sentAt` shows more than 5 s. When
 * that is invalid, more than 24 h after the receipt or before the year 1, the time of receipt is used.
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

/** The time of an event or of a change of a person, without warnings. */
export const correctedTime = (
  clientTimestamp: string | null,
  sentAt: string | null,
  receivedAtMs: number,
): number => (clientTimestamp === null ? receivedAtMs : timeOf(clientTimestamp, sentAt, receivedAtMs).time)
