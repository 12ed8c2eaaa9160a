import { type Static, Type } from 'typebox'
import { FIRST_EPOCH_TIME, LAST_EPOCH_TIME } from '../client-time.ts'
import {
  CLIENT_EVENT_ID_OR_EMPTY,
  MAX_ID_LENGTH,
  NOT_BLANK,
  PRINTABLE,
  PRINTABLE_OR_EMPTY,
} from '../schema-parts.ts'
import { compileValidator } from '../validator.ts'

/** Maximum events in a request to `/api/v1/t`. */
export const MAX_EVENTS_PER_REQUEST = 100
/** Maximum size of a request to `/api/v1/t` after decompression, in bytes. */
export const MAX_TRACK_BODY_BYTES = 1024 * 1024
/** Maximum size of an event: the UTF-8 length of its compact JSON. */
export const MAX_EVENT_BYTES = 32 * 1024
/** Maximum nesting of an event. The event object itself is level 1. */
export const MAX_EVENT_DEPTH = 20

/** Null in an optional field is the same as a missing field. */
const optionalId = (description: string, text: object = { minLength: 1, ...PRINTABLE }) =>
  Type.Optional(
    Type.Unsafe<string | null>({
      type: ['string', 'null'],
      maxLength: MAX_ID_LENGTH,
      ...text,
      description,
    }),
  )

/** An event in a request. Unknown fields are ignored, with a warning. */
export const TrackedEvent = Type.Object(
  {
    eventName: Type.String({
      minLength: 1,
      maxLength: 200,
      ...NOT_BLANK,
      description: 'What happened, such as `page_view`.',
    }),
    visitorId: optionalId(
      'The anonymous visitor. A missing, empty or placeholder value such as `undefined` gives a warning.',
      PRINTABLE_OR_EMPTY,
    ),
    userId: optionalId(
      'The signed-in user. An empty or placeholder value such as `undefined` gives a warning and counts as missing.',
      PRINTABLE_OR_EMPTY,
    ),
    sessionId: optionalId(
      'The session of the event. An empty or placeholder value such as `undefined` gives a warning and counts as missing.',
      PRINTABLE_OR_EMPTY,
    ),
    properties: Type.Optional(
      Type.Unsafe<Record<string, unknown> | null>({
        type: ['object', 'null'],
        description: 'The properties of the event. Monetary amounts are integers in minor units.',
      }),
    ),
    clientTimestamp: Type.Optional(
      Type.Unsafe<string | number | null>({
        type: ['string', 'number', 'null'],
        minimum: FIRST_EPOCH_TIME,
        maximum: LAST_EPOCH_TIME,
        description:
          'When the event happened by the client’s clock: RFC 3339, or ISO 8601 as libraries write it (without a zone ' +
          'it is UTC), or seconds or milliseconds since 1970, as a number or as text. From 100,000,000,000 up a number ' +
          'is in milliseconds. Default: the time of receipt. Another value is a warning, and in a backfill an error ' +
          'of the event.',
      }),
    ),
    eventId: optionalId(
      'An id chosen by the client, so that repeats are stored once. Ids that begin with `wm:` are reserved for ' +
        'Waymark and refused. An empty or placeholder value such as `undefined` gives a warning and counts as ' +
        'missing.',
      CLIENT_EVENT_ID_OR_EMPTY,
    ),
    shortLinkId: optionalId('The short link that led here, by id.'),
    shortLinkCode: optionalId('The short link that led here, by code.'),
    clickIds: Type.Optional(
      Type.Unsafe<Record<string, string> | null>({
        type: ['object', 'null'],
        additionalProperties: { type: 'string' },
        description: 'Click ids of ad networks, such as `gclid`.',
      }),
    ),
  },
  { description: 'A product event.' },
)
export type TrackedEvent = Static<typeof TrackedEvent>

export const trackedEvent = compileValidator(TrackedEvent)

/** Maximum events in a backfill request. */
export const MAX_BACKFILL_EVENTS = 1_000

const batchOf = (maxItems: number, description: string, sentAt: string) =>
  Type.Object(
    {
      events: Type.Array(TrackedEvent, { minItems: 1, maxItems }),
      sentAt: Type.Optional(
        Type.Unknown({
          description: sentAt,
        }),
      ),
    },
    { additionalProperties: false, description },
  )

/** A request with many events and the time when the client sent it. */
export const TrackBatch = batchOf(
  MAX_EVENTS_PER_REQUEST,
  'Up to 100 events.',
  'When the client sent the request, as in `clientTimestamp`. It corrects a clock that is off by over 5 s. Any other value' +
    ' gives a warning for every event and counts as missing.',
)
export const BackfillBatch = batchOf(
  MAX_BACKFILL_EVENTS,
  'Up to 1,000 events.',
  'Not used: the times of a backfill are never corrected. What is not a time is a warning of every event.',
)
