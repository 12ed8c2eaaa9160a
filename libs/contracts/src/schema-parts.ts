import { type TUnsafe, Type } from 'typebox'
import { PATTERN_DESCRIPTION } from './problem-message.ts'

/** A string or null: what an absent optional field becomes once a record has left the gateway. */
export const NullableString = Type.Unsafe<string | null>({ type: ['string', 'null'] })

/** String keys to string values; `additionalProperties` rather than a key pattern, which would skip keys with line breaks. */
export const StringMap: TUnsafe<Record<string, string>> = Type.Unsafe<Record<string, string>>({
  type: 'object',
  additionalProperties: { type: 'string' },
})

/** Any JSON object. */
export const JsonObject: TUnsafe<Record<string, unknown>> = Type.Unsafe<Record<string, unknown>>({
  type: 'object',
  additionalProperties: true,
})

/** An RFC 3339 time in UTC, with milliseconds when we write it. */
export const Timestamp = Type.String({ format: 'date-time' })

/** Such a time, or null where there is none. */
export const NullableTimestamp = Type.Unsafe<string | null>({ type: ['string', 'null'], format: 'date-time' })

/** A record id: a UUID, version 7 when we generate it. */
export const Id = Type.String({ format: 'uuid' })

/** Characters in an id that a client chose. */
export const MAX_ID_LENGTH = 200

/** What buggy clients send in place of an id; linking people by it would make all of them one. */
export const BUG_IDS = ['undefined', 'null', 'NaN', '[object Object]']

const CONTROL = '\\u0000-\\u001f\\u007f-\\u009f'
// White space first and then something else, so that the pattern never goes back over a text.
const SPACE = `[^\\S${CONTROL}]`
const REST = `[^${CONTROL}]*`
const VISIBLE_TEXT = `${SPACE}*[^\\s${CONTROL}]${REST}`

/** Ids hold printable characters only, and not only white space. */
export const PRINTABLE = {
  pattern: `^${VISIBLE_TEXT}$`,
  'x-pattern-description': 'printable characters, and not only white space',
}
/** How the ids of events that Waymark makes itself begin. Clients may not use it, or they could take such an id first. */
export const OWN_EVENT_ID_PREFIX = 'wm:'
// `(?!wm:)` without a look-ahead, which RE2 and generators of test data do not know: the text may begin with white space,
// with another character than `w`, with `w` and no `m`, or with `wm` and no colon.
const NOT_OWN = [
  `${SPACE}+[^\\s${CONTROL}]${REST}`,
  `[^\\sw${CONTROL}]${REST}`,
  `w(?:[^m${CONTROL}]${REST})?`,
  `wm(?:[^:${CONTROL}]${REST})?`,
].join('|')
/** The same for ids of events, which count as missing when they are empty. */
export const CLIENT_EVENT_ID_OR_EMPTY = {
  pattern: `^(?:${NOT_OWN})?$`,
  'x-pattern-description': `${PRINTABLE['x-pattern-description']}, and must not begin with ${OWN_EVENT_ID_PREFIX}, which is reserved for events that Waymark makes itself`,
}
/** The same for ids that count as missing when they are empty. */
export const PRINTABLE_OR_EMPTY = {
  ...PRINTABLE,
  pattern: `^(?:${VISIBLE_TEXT})?$`,
}
/** Names hold more than white space. */
export const NOT_BLANK = { pattern: '\\S', 'x-pattern-description': 'more than white space' }

/** The `pattern` of a string, with what it allows in words that follow "must be". */
export const patternOf = (pattern: string, words: string) => ({ pattern, [PATTERN_DESCRIPTION]: words })

/** What names something or is read by people: it has a character to be seen, and none that PostgreSQL refuses. */
export const notBlank = patternOf(
  '^[^\\u0000]*[^\\s\\u0000][^\\u0000]*$',
  'text with at least one character that is not white space, and without U+0000',
)

/** A name of 1 to 200 characters. */
export const Name = Type.String({ minLength: 1, maxLength: 200, ...notBlank })

/** Any JSON object, with what it is. */
export const openObject = (description: string): TUnsafe<Record<string, unknown>> =>
  Type.Unsafe<Record<string, unknown>>({ type: 'object', additionalProperties: true, description })
