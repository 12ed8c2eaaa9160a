import { EARLIEST_MS, parseRfc3339 } from '@waymark/contracts'
import { MAX_AHEAD_MS } from '../ingestion/accept-event.ts'

const TOLERATED_SKEW_MS = 5_000

/**
 * When an event happened, in ms since the epoch. The client's time counts, moved by the difference between
 * its clock and ours when `sentAt` shows that it is off by more than 5 s. Without a usable client time,
 * or with one over 24 h ahead of receipt or before the year 1, the time of receipt counts.
 */
export const correctedTime = (
  clientTimestamp: string | null,
  sentAt: string | null,
  receivedAtMs: number,
): number => {
  const claimed = clientTimestamp === null ? undefined : parseRfc3339(clientTimestamp)
  if (claimed === undefined) return receivedAtMs
  const sent = sentAt === null ? undefined : parseRfc3339(sentAt)
  const skew = sent === undefined ? 0 : receivedAtMs - sent
  const corrected = Math.abs(skew) > TOLERATED_SKEW_MS ? claimed + skew : claimed
  const usable = corrected >= EARLIEST_MS && corrected - receivedAtMs <= MAX_AHEAD_MS
  return usable ? corrected : receivedAtMs
}
