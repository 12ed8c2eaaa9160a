import { parseRfc3339 } from './rfc3339.ts'

const EXTENDED = /^(\d{4}-\d\d-\d\d)(?:(?:[Tt_]| {1,2})(\d\d:\d\d)(?::(\d\d)(?:[.,](\d+))?)?)?(.*)$/
const BASIC = /^(\d{4})(\d\d)(\d\d)(?:[Tt](\d\d)(\d\d)(?:(\d\d)(?:[.,](\d+))?)?(.*))?$/
/** An offset such as `Z`, `+02:00`, `+0200`, `+02` and ` +0000 UTC`. Java appends the zone in brackets. */
const ZONE = /^ ?(?:(?:Z|UTC|GMT)|([+-])(\d\d)(?::?(\d\d))?(?: [A-Z]{2,5})?)?(?:\[[\w/+:-]{1,50}\])?$/i
const NUMBER = /^\d{1,20}(?:\.\d{1,20})?$/

/** Epoch times below it are no times of events (3 March 1973), and text like them may be a date such as `20240505`. */
export const FIRST_EPOCH_TIME = 100_000_000
/** From here on a number is in milliseconds. As seconds, it would be in the year 5138. */
const FIRST_MS = 100_000_000_000
/** Larger numbers are neither. As milliseconds, they would be in the year 5138. */
export const LAST_EPOCH_TIME = 99_999_999_999_999
const MS_PER_SECOND = 1_000
/** Longer text is no time. */
const MAX_LENGTH = 100

/**
 * Reads a time as clients write it, and writes it as RFC 3339. It reads RFC 3339, which stays as it is; ISO 8601 as
 * libraries write it (`+0000`, `+02`, without seconds, with a comma, in the basic format, only a date); and seconds or
 * milliseconds since 1970, as a number or as text. The size tells which: from 10^8 to 10^11 seconds, from there to 10^14
 * milliseconds. Without a zone a time is UTC. `undefined` for anything else.
 */
export const rfc3339OfClientTime = (value: unknown): string | undefined => {
  if (typeof value === 'number') return fromEpoch(value)
  if (typeof value !== 'string') return undefined
  if (parseRfc3339(value) !== undefined) return value
  if (value.length > MAX_LENGTH) return undefined
  const text = value.trim()
  const written = NUMBER.test(text) ? fromEpoch(Number(text)) : undefined
  return written ?? ifTime(text) ?? ifTime(fromIso(text))
}

/** Like `rfc3339OfClientTime`, in ms since the epoch. */
export const readClientTime = (value: unknown): number | undefined => {
  const text = rfc3339OfClientTime(value)
  return text === undefined ? undefined : parseRfc3339(text)
}

/** What `readClientTime` reads, for messages. */
export const CLIENT_TIME_WORDS =
  'a time in ISO 8601 such as 2026-11-21T04:00:00Z, or seconds or milliseconds since 1970'

const ifTime = (text: string | undefined): string | undefined =>
  text !== undefined && parseRfc3339(text) !== undefined ? text : undefined

const fromEpoch = (value: number): string | undefined => {
  if (!(value >= FIRST_EPOCH_TIME && value <= LAST_EPOCH_TIME)) return undefined
  return new Date(Math.round(value < FIRST_MS ? value * MS_PER_SECOND : value)).toISOString()
}

const fromIso = (text: string): string | undefined => {
  const extended = EXTENDED.exec(text)
  if (extended) {
    const [, date, minutes = '00:00', seconds, fraction, zone] = extended
    return fromParts(`${date}T${minutes}`, seconds, fraction, zone)
  }
  const basic = BASIC.exec(text)
  if (!basic) return undefined
  const [, year, month, day, hour = '00', minute = '00', seconds, fraction, zone] = basic
  return fromParts(`${year}-${month}-${day}T${hour}:${minute}`, seconds, fraction, zone)
}

const fromParts = (start: string, seconds = '00', fraction = '', zone = ''): string | undefined => {
  const offset = ZONE.exec(zone)
  if (!offset) return undefined
  const [, sign, hours, minutes = '00'] = offset
  const parts = `${start}:${seconds}${fraction && `.${fraction}`}`
  return sign ? `${parts}${sign}${hours}:${minutes}` : `${parts}Z`
}
