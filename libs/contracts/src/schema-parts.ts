import { type TUnsafe, Type } from 'typebox'
import { PATTERN_DESCRIPTION, VISIBLE_KEYWORD } from './problem-message.ts'

/** A string, or null for a missing value. */
export const NullableString = Type.Unsafe<string | null>({ type: ['string', 'null'] })

/** An object of strings. With `additionalProperties`, because a key pattern would not match keys with line breaks. */
export const StringMap: TUnsafe<Record<string, string>> = Type.Unsafe<Record<string, string>>({
  type: 'object',
  additionalProperties: { type: 'string' },
})

/** Any JSON object. */
export const JsonObject: TUnsafe<Record<string, unknown>> = Type.Unsafe<Record<string, unknown>>({
  type: 'object',
  additionalProperties: true,
})

/** An RFC 3339 time in UTC, which Waymark writes with milliseconds. */
export const Timestamp = Type.String({ format: 'date-time' })

/** An RFC 3339 time or null. */
export const NullableTimestamp = Type.Unsafe<string | null>({ type: ['string', 'null'], format: 'date-time' })

/** The id of a record: a UUID. Waymark generates version 7. */
export const Id = Type.String({ format: 'uuid' })
export const NullableId = Type.Unsafe<string | null>({ type: ['string', 'null'], format: 'uuid' })

/** Maximum characters of an id from a client. */
export const MAX_ID_LENGTH = 200

const CONTROL = '\\u0000-\\u001f\\u007f-\\u009f'
// White space first and then another character, so that the pattern does not backtrack.
const SPACE = `[^\\S${CONTROL}]`
const REST = `[^${CONTROL}]*`
const VISIBLE_TEXT = `${SPACE}*[^\\s${CONTROL}]${REST}`

/** An id has only printable characters, and a visible one among them. */
export const PRINTABLE = {
  pattern: `^${VISIBLE_TEXT}$`,
  'x-pattern-description': 'printable characters, and not only white space or invisible ones',
  [VISIBLE_KEYWORD]: true,
}
/** The prefix of event ids that Waymark generates. Clients may not use it, so that they cannot claim such an id first. */
export const OWN_EVENT_ID_PREFIX = 'wm:'
// `(?!wm:)` without a lookahead, which RE2 and generators of test data do not support.
const NOT_OWN = [
  `${SPACE}+[^\\s${CONTROL}]${REST}`,
  `[^\\sw${CONTROL}]${REST}`,
  `w(?:[^m${CONTROL}]${REST})?`,
  `wm(?:[^:${CONTROL}]${REST})?`,
].join('|')
/** An optional id of an event. An empty one counts as missing. */
export const CLIENT_EVENT_ID_OR_EMPTY = {
  pattern: `^(?:${NOT_OWN})?$`,
  'x-pattern-description': `${PRINTABLE['x-pattern-description']}, and must not begin with ${OWN_EVENT_ID_PREFIX}, which is reserved for events that Waymark makes itself`,
  [VISIBLE_KEYWORD]: true,
}
/** An optional id. An empty one counts as missing. */
export const PRINTABLE_OR_EMPTY = {
  ...PRINTABLE,
  pattern: `^(?:${VISIBLE_TEXT})?$`,
}
/** A name has a visible character. */
export const NOT_BLANK = {
  pattern: '\\S',
  'x-pattern-description': 'more than white space and invisible characters',
  [VISIBLE_KEYWORD]: true,
}

/** The `pattern` of a string, and its description, which follows "must be" in messages. */
export const patternOf = (pattern: string, words: string) => ({ pattern, [PATTERN_DESCRIPTION]: words })

/** Text for people: it has a visible character, and none that PostgreSQL refuses. */
export const notBlank = {
  ...patternOf(
    '^[^\\u0000]*[^\\s\\u0000][^\\u0000]*$',
    'text with at least one visible character, and without U+0000',
  ),
  [VISIBLE_KEYWORD]: true,
}

/** The query parameter of exports that can be CSV. */
export const WithBom = Type.Optional(
  Type.Boolean({
    description:
      'Whether a CSV begins with a byte order mark, by which Excel knows that it is UTF-8. Default: false.',
  }),
)

/** A name of 1 to 200 characters. */
export const Name = Type.String({ minLength: 1, maxLength: 200, ...notBlank })

/** Any JSON object, with a description. */
export const openObject = (description: string): TUnsafe<Record<string, unknown>> =>
  Type.Unsafe<Record<string, unknown>>({ type: 'object', additionalProperties: true, description })
