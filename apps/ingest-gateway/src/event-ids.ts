import { randomUUID } from 'node:crypto'

/** Where in a random UUID what follows `rand_a` begins: the variant and 62 random bits. */
const AFTER_RAND_A = 18
const VERSION = 0x7000
const COUNTS = 0x1000

/**
 * Makes ids for events that were received at a time, in ms since the epoch: UUIDv7 whose `rand_a` counts within a
 * millisecond (RFC 9562, 6.2, method 1), the rest is random for each millisecond, and again whenever the count has run out.
 */
export const createEventIds = (): ((time: number) => string) => {
  let at = Number.NaN
  let count = 0
  let head = ''
  let tail = ''
  return (time) => {
    if (time !== at || count === COUNTS) {
      const hex = time.toString(16).padStart(12, '0')
      at = time
      count = 0
      head = `${hex.slice(0, 8)}-${hex.slice(8)}-`
      tail = randomUUID().slice(AFTER_RAND_A)
    }
    return head + (VERSION + count++).toString(16) + tail
  }
}
