import { Type } from 'typebox'
import { BeaconQuery } from './beacon-query.ts'
import { ErrorBody, Forbidden, RetryAfter } from './error-bodies.ts'
import { IdentifyRequest, IdentifyResult, ProfileRequest, ProfileResult } from './identify.ts'
import { defineOperation } from './operation.ts'
import { BackfillBatch, TrackBatch, TrackedEvent } from './track-request.ts'
import { AsyncTrackResult, EventErrors, InvalidEvent, SyncTrackResult } from './track-result.ts'

const SyncQuery = Type.Object({
  sync: Type.Optional(
    Type.Unsafe<'1' | 'true'>({
      type: 'string',
      enum: ['1', 'true'],
      description:
        '`1` or `true`: the request is answered when the events are stored, not when they are queued.',
    }),
  ),
})
const IdentifyQuery = Type.Object({ ...SyncQuery.properties, ...BeaconQuery.properties })
const TrackQuery = Type.Object({
  ...IdentifyQuery.properties,
  cookieless: Type.Optional(
    Type.Unsafe<'1' | 'true'>({
      type: 'string',
      enum: ['1', 'true'],
      description:
        '`1` or `true`: events without a `visitorId` get one from a hash of address, user agent and project, whose salt ' +
        'is deleted after the day. Such a visitor has no profile. Only with a key of kind `pub`, because a server has the ' +
        'address of none.',
    }),
  ),
})
const BackfillQuery = Type.Object({
  sync: Type.Optional(Type.String({ description: 'Ignored: a backfill is always synchronous.' })),
})
const syncHeader = { 'X-Service-Sync': '`1` or `true` means the same as `sync=1`.' }

const nothingValid = {
  description: 'The body is not JSON, has no events or too many, has no valid event, or has an unknown field',
  schema: Type.Object({
    ...ErrorBody.properties,
    invalid: Type.Optional(Type.Array(InvalidEvent)),
    errors: Type.Optional(
      Type.Array(EventErrors, { description: 'The problems of each event. Only on the synchronous path.' }),
    ),
  }),
}
const allRejected = {
  description: 'Validation rejected every event',
  schema: Type.Object({
    ...ErrorBody.properties,
    ...SyncTrackResult.properties,
    errors: Type.Array(EventErrors),
    enforceRejected: Type.Integer(),
  }),
}
const notProven = {
  description: 'The key lacks the scope, or `userHash` is wrong or missing although the project requires it',
  schema: Forbidden,
}
const notNow = {
  description:
    '`QUEUE_UNAVAILABLE`, `SELECTOR_LOOKUP_FAILED` or `STORE_UNAVAILABLE`: repeating the same request is safe',
  schema: RetryAfter,
}

export const trackEvents = defineOperation({
  id: 'trackEvents',
  method: 'post',
  path: '/api/v1/t',
  tag: 'Ingestion',
  summary: 'Send events',
  description:
    'Sends one event, or up to 100. 202 means that the events are durable and will be stored. With the sync ' +
    'selector, 200 means that they can be read. Give conversions an `eventId` of your own, so that a repeat ' +
    'is always safe.\n\n' +
    'With a key of kind `pub` the JSON may also be sent as `text/plain`, without a type, or in a form, which a page can ' +
    'send to another site without a preflight. Of a form (`application/x-www-form-urlencoded` or `multipart/form-data`), ' +
    'the field `data` holds the JSON, or its fields are the members of the event. The key may be `apiKey` in the query or, ' +
    'for a body of a page of at most 64 KiB that arrives within 2 s, a member `apiKey` of the body. This makes ' +
    '`navigator.sendBeacon` work with any body. Requests with cookies are accepted, and the cookies are ignored.\n\n' +
    'An event is stored once per `eventId`. A repeat counts as `accepted`. An event whose id belongs to an ' +
    'event with another name is not stored. With the sync selector it counts as `failed`, never as `queued`, ' +
    'and `errors[]` contains the rule `duplicate_event_id`, with `processed` true. Without it, the answer ' +
    'does not report it.\n\n' +
    'In the modes `warn` and `enforce` the following are warnings, which are stored with the event and, with ' +
    'the sync selector, returned in `errors[]`: `missing_visitor_id`, `invalid_visitor_id`, ' +
    '`invalid_user_id`, `invalid_session_id`, `invalid_event_id`, `invalid_timestamp`, `future_timestamp`, ' +
    '`invalid_sent_at`, `inexact_number` (a number in `properties` with more digits than a double holds), `unknown_field` (ignored; the first ten of an event), `unknown_event` (if the project' +
    ' has any event definition), and for a conversion `invalid_amount`, `invalid_currency`, ' +
    '`missing_currency` and `invalid_quantity`.',
  access: { by: 'key', scope: 'events:write' },
  forPrograms: true,
  limited: true,
  query: TrackQuery,
  headers: syncHeader,
  body: Type.Unsafe({ anyOf: [TrackedEvent, TrackBatch] }),
  answers: {
    200: { description: 'Stored', schema: SyncTrackResult },
    202: { description: 'Queued', schema: AsyncTrackResult },
    400: nothingValid,
    422: allRejected,
    503: notNow,
  },
})

export const identify = defineOperation({
  id: 'identify',
  method: 'post',
  path: '/api/v1/identify',
  tag: 'Ingestion',
  summary: 'Link a visitor to a user',
  description:
    'It applies to events that are sent after the answer. A `pub` key never replaces an `email` or `phone` ' +
    'that a `sec` key has written, unless `userHash` proves the user. Traits of an anonymous visitor that do ' +
    'not fit into the profile of the user are dropped, oldest first. A queued identify also drops its own ' +
    'traits that do not fit. Pages may send it like events: see `POST /api/v1/t`.',
  access: { by: 'key', scope: 'events:write' },
  limited: true,
  query: IdentifyQuery,
  headers: syncHeader,
  body: IdentifyRequest,
  answers: {
    200: { description: 'Applied', schema: IdentifyResult },
    202: { description: 'Applied, or queued before later events of the visitor', schema: IdentifyResult },
    400: {
      description:
        'The body is not JSON, an id is missing or invalid, a field is unknown, or the traits are too large, too ' +
        'deep or too large for the profile',
      schema: ErrorBody,
    },
    403: notProven,
  },
})

export const writeProfile = defineOperation({
  id: 'writeProfile',
  method: 'put',
  path: '/api/v1/profile',
  tag: 'Ingestion',
  summary: 'Write traits of a person',
  description:
    'A `pub` key gets only what it wrote, and never replaces an `email` or `phone` that a `sec` key has ' +
    'written, unless `userHash` proves the user.',
  access: { by: 'key', scope: 'events:write' },
  limited: true,
  body: ProfileRequest,
  answers: {
    200: { description: 'Written', schema: ProfileResult },
    400: {
      description:
        'The body is not JSON, has no valid id, has an unknown field, or the traits are too large, too deep or ' +
        'too large for the profile',
      schema: ErrorBody,
    },
    403: notProven,
  },
})

export const backfillEvents = defineOperation({
  id: 'backfillEvents',
  method: 'post',
  path: '/internal/backfill/events',
  tag: 'Ingestion',
  summary: 'Send events of the past',
  description:
    'Up to 1,000 events, which are stored before the answer. They send no email, and `sentAt` never corrects ' +
    'their times. An event whose `clientTimestamp` cannot be read is refused. Every conversion needs an `eventId` that is not empty, white space or a placeholder such as' +
    ' `undefined`. The answer comes within 5 s plus 30 ms per event.',
  access: { by: 'key', scope: 'events:backfill' },
  query: BackfillQuery,
  body: Type.Unsafe({ anyOf: [TrackedEvent, BackfillBatch] }),
  answers: {
    200: { description: 'Stored', schema: SyncTrackResult },
    400: {
      description: 'As for `/api/v1/t`, or `MISSING_EVENT_ID` with the indexes of conversions without an id',
      schema: Type.Object({
        ...nothingValid.schema.properties,
        affectedIndices: Type.Optional(Type.Array(Type.Integer())),
      }),
    },
    422: allRejected,
    503: notNow,
  },
})

export const ingestionOperations = [trackEvents, identify, writeProfile, backfillEvents]
