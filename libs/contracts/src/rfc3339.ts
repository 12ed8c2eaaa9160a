const RFC_3339 =
  /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])[Tt ](?:[01]\d|2[0-3]):[0-5]\d:(?:[0-5]\d|60)(?:\.\d+)?(?:[Zz]|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/

/** The earliest time that both PostgreSQL and RFC 3339 can represent, in ms since the epoch. */
export const EARLIEST_MS = Date.parse('0001-01-01T00:00:00Z')
const LATEST_MS = Date.parse('9999-12-31T23:59:59.999Z')

/** Parses an RFC 3339 time of the years 1 to 9999 (UTC) to ms since the epoch. `undefined` for other text. */
export const parseRfc3339 = (text: string): number | undefined => {
  if (!RFC_3339.test(text)) return undefined
  const day = Number(text.slice(8, 10))
  // Date.parse accepts the 31st of February.
  if (day > SHORTEST_MONTH && day > lastDayOf(text)) return undefined
  // Date.parse does not accept leap seconds.
  const isPlain = text.charAt(10) === 'T' && text.endsWith('Z') && !text.includes(':60')
  const time = Date.parse(isPlain ? text : text.toUpperCase().replace(' ', 'T').replace(':60', ':59'))
  return time >= EARLIEST_MS && time <= LATEST_MS ? time : undefined
}

const SHORTEST_MONTH = 28

const lastDayOf = (text: string): number =>
  new Date(Date.UTC(Number(text.slice(0, 4)), Number(text.slice(5, 7)), 0)).getUTCDate()

/** Converts text in the format `date-time` to a date. @throws RangeError for other text */
export const dateOfTime = (text: string): Date => {
  const time = parseRfc3339(text)
  if (time === undefined) throw new RangeError('not an RFC 3339 time')
  return new Date(time)
}

/** Normalizes an optional time to UTC with milliseconds. @throws RangeError like `dateOfTime` */
export const utcOfTime = (text: string | null | undefined): string | null =>
  typeof text === 'string' ? dateOfTime(text).toISOString() : null
