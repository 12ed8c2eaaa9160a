import { Type } from 'typebox'
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
      description: '`1` or `true` answers when the work is done, and not when it is queued.',
    }),
  ),
})
const TrackQuery = Type.Object({
  ...SyncQuery.properties,
  apiKey: Type.Optional(
    Type.String({
      description:
        'A key of kind `pub`, for clients that can set no headers, such as `navigator.sendBeacon`. URLs are logged by ' +
        'proxies: prefer a header where there is one. A key of kind `sec` is refused here.',
    }),
  ),
})
const BackfillQuery = Type.Object({
  sync: Type.Optional(Type.String({ description: 'Ignored: a backfill is always synchronous.' })),
})
const syncHeader = { 'X-Service-Sync': '`1` or `true` means the same as `sync=1`.' }

const nothingValid = {
  description: 'Not JSON, not events, too many of them, none that is valid, or an unknown field beside them',
  schema: Type.Object({
    ...ErrorBody.properties,
    invalid: Type.Optional(Type.Array(InvalidEvent)),
    errors: Type.Optional(
      Type.Array(EventErrors, { description: 'On the synchronous path, what is wrong with each event.' }),
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
  description:
    'The key lacks the scope, or `userHash` is wrong, or it is missing where the project requires one',
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
    'One event, or up to 100. 202 means that they are durable and will be stored; with the sync selector 200 means ' +
    'that they can be read. Give conversions an `eventId` of your own: then a repeat is safe whatever is away.\n\n' +
    'With a key of kind `pub` the JSON may also come as `text/plain`, which a page may send to another site without a ' +
    'preflight, and the key as `apiKey` in the query or, at most 64 KiB arriving within 2 s, as a member `apiKey` of ' +
    'that body beside the events: so `navigator.sendBeacon` works.\n\n' +
    'An event is stored once per `eventId`. A repeat counts as `accepted`. An event whose id is that of an event with ' +
    'another name is not stored: with the sync selector it counts as `failed`, never as `queued`, and is told in ' +
    '`errors[]` by the rule `duplicate_event_id`, with `processed` true; without, nobody knows it before the answer.\n\n' +
    'In the modes `warn` and `enforce` these are warnings, stored with the event and, with the sync selector, told in ' +
    '`errors[]`: `missing_visitor_id`, `invalid_visitor_id`, `invalid_user_id`, `invalid_session_id`, ' +
    '`invalid_event_id`, `invalid_timestamp`, `future_timestamp`, `invalid_sent_at`, `unknown_field` (ignored; the first ten of an event), ' +
    '`unknown_event` (once the project has any event definition), and of a conversion `invalid_amount`, ' +
    '`invalid_currency`, `missing_currency` and `invalid_quantity`.',
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
    'Events that are sent after the answer see it. A `pub` key never replaces an `email` or `phone` that a `sec` key ' +
    'has written, unless `userHash` proves the user. Traits of an anonymous visitor that do not fit into the user’s ' +
    'profile are left out, the oldest first; of an identify that had to be queued, traits that do not fit as well.',
  access: { by: 'key', scope: 'events:write' },
  limited: true,
  query: SyncQuery,
  headers: syncHeader,
  body: IdentifyRequest,
  answers: {
    200: { description: 'Applied', schema: IdentifyResult },
    202: { description: 'Applied, or queued in front of what the visitor does next', schema: IdentifyResult },
    400: {
      description:
        'Not JSON, an id is missing or unusable, a field is unknown, or the traits are too large, by themselves or for ' +
        'the profile, or too deep',
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
    'A `pub` key gets nothing back that it did not write, and never replaces an `email` or `phone` that a `sec` key has ' +
    'written, unless `userHash` proves the user.',
  access: { by: 'key', scope: 'events:write' },
  limited: true,
  body: ProfileRequest,
  answers: {
    200: { description: 'Written', schema: ProfileResult },
    400: {
      description:
        'Not JSON, no usable id, a field is unknown, or the traits are too large, by themselves or for the profile, or ' +
        'too deep',
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
    'Up to 1,000, stored before the answer. They fire no email, and their times are never corrected by `sentAt`. Every ' +
    'conversion needs an `eventId` of its own, neither empty nor white space nor a value such as `undefined`. The answer comes within 5 s plus ' +
    '30 ms an event.',
  access: { by: 'key', scope: 'events:backfill' },
  query: BackfillQuery,
  body: Type.Unsafe({ anyOf: [TrackedEvent, BackfillBatch] }),
  answers: {
    200: { description: 'Stored', schema: SyncTrackResult },
    400: {
      description:
        'As for `/api/v1/t`, or `MISSING_EVENT_ID` with the places of the conversions that have none',
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
