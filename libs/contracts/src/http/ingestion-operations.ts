import { Type } from 'typebox'
import { ErrorBody, RetryAfter } from './error-bodies.ts'
import { IdentifyRequest, IdentifyResult, ProfileRequest, ProfileResult } from './identify.ts'
import { defineOperation } from './operation.ts'
import { BackfillBatch, TrackBatch, TrackedEvent } from './track-request.ts'
import { AsyncTrackResult, EventErrors, InvalidEvent, SyncTrackResult } from './track-result.ts'

const SyncQuery = Type.Object({
  sync: Type.Optional(
    Type.String({ description: '`1` answers when the work is done, and not when it is queued.' }),
  ),
})
const syncHeader = { 'X-Service-Sync': '`1` means the same as `sync=1`.' }

const nothingValid = {
  description: 'Not JSON, not events, too many of them, or none that is valid',
  schema: Type.Object({ ...ErrorBody.properties, invalid: Type.Optional(Type.Array(InvalidEvent)) }),
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
    'that they can be read. Give conversions an `eventId` of your own: then a repeat is safe whatever is away.',
  access: { by: 'key', scope: 'events:write' },
  limited: true,
  query: SyncQuery,
  headers: syncHeader,
  body: Type.Unsafe({ anyOf: [TrackBatch, TrackedEvent] }),
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
  description: 'Events that are sent after the answer see it.',
  access: { by: 'key', scope: 'events:write' },
  limited: true,
  query: SyncQuery,
  headers: syncHeader,
  body: IdentifyRequest,
  answers: {
    200: { description: 'Applied', schema: IdentifyResult },
    202: { description: 'Applied, or queued in front of what the visitor does next', schema: IdentifyResult },
    400: {
      description: 'Not JSON, an id is missing, or the traits are too large or too deep',
      schema: ErrorBody,
    },
  },
})

export const writeProfile = defineOperation({
  id: 'writeProfile',
  method: 'put',
  path: '/api/v1/profile',
  tag: 'Ingestion',
  summary: 'Write traits of a person',
  access: { by: 'key', scope: 'events:write' },
  limited: true,
  body: ProfileRequest,
  answers: {
    200: { description: 'Written', schema: ProfileResult },
    400: { description: 'Not JSON, no id, or the traits are too large or too deep', schema: ErrorBody },
  },
})

export const backfillEvents = defineOperation({
  id: 'backfillEvents',
  method: 'post',
  path: '/internal/backfill/events',
  tag: 'Ingestion',
  summary: 'Send events of the past',
  description:
    'Up to 1,000, stored before the answer. They fire no email. Every conversion needs its own `eventId`.',
  access: { by: 'key', scope: 'events:backfill' },
  body: Type.Unsafe({ anyOf: [BackfillBatch, TrackedEvent] }),
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
