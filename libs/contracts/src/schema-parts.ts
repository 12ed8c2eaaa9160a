import { type TUnsafe, Type } from 'typebox'

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
})

/** An RFC 3339 time in UTC, with milliseconds when we write it. */
export const Timestamp = Type.String({ format: 'date-time' })

/** Such a time, or null where there is none. */
export const NullableTimestamp = Type.Unsafe<string | null>({ type: ['string', 'null'], format: 'date-time' })

/** A record id: a UUID, version 7 when we generate it. */
export const Id = Type.String({ format: 'uuid' })

/** Characters in an id that a client chose. */
export const MAX_ID_LENGTH = 200
/** Ids hold printable characters only. */
export const PRINTABLE = '^[^\\u0000-\\u001f\\u007f-\\u009f]*$'
