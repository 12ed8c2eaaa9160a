import { randomUUID } from 'node:crypto'

/** Where in a random UUID what follows the version begins. */
const AFTER_VERSION = 15

/** Makes ids for events: UUIDv7 (RFC 9562), of which all but the time is random. `now` is in ms since the epoch. */
export const createEventIds = (now: () => number): (() => string) => {
  let at = Number.NaN
  let prefix = ''
  return () => {
    const time = now()
    if (time !== at) {
      at = time
      const hex = time.toString(16).padStart(12, '0')
      prefix = `${hex.slice(0, 8)}-${hex.slice(8)}-7`
    }
    return prefix + randomUUID().slice(AFTER_VERSION)
  }
}
