import { type Static, Type } from 'typebox'
import { EnrichedEvent } from '../records/enriched-event.ts'
import { WithBom } from '../schema-parts.ts'
import { compileValidator } from '../validator.ts'
import { Filters } from './analytics-parts.ts'
import { closeObjects } from './close-objects.ts'
import { RetryAfterSeconds } from './error-bodies.ts'
import { defineOperation } from './operation.ts'
import { equalTo, pageOf, pageParameters } from './page.ts'

/** A stored event in the API. */
export const EventView = Type.Omit(EnrichedEvent, ['v', 'projectId', 'backfill', 'conversions'])
export type EventView = Static<typeof EventView>

/** Maximum characters of the filters in a query string. */
export const MAX_FILTERS_LENGTH = 8_000
/** Validates the list in `filters` of a query string. */
export const eventFilters = compileValidator(closeObjects(Filters))

const time = (description: string) =>
  Type.Optional(Type.String({ format: 'date-time', maxLength: 40, description }))
const matching = {
  from: time('Events from this time on, by their `timestamp`.'),
  to: time('Events before this time, by their `timestamp`.'),
  filters: Type.Optional(
    Type.String({
      minLength: 2,
      maxLength: MAX_FILTERS_LENGTH,
      description:
        'A JSON list of filters as in a series of `POST analytics/trends`, such as ' +
        '`[{"property":"properties.total","op":"gte","value":4900}]`.',
    }),
  ),
}

const EventQuery = Type.Object({
  ...pageParameters,
  ...matching,
  eventId: equalTo('The event with this id.'),
  eventName: equalTo('Events of this name.'),
  visitorId: equalTo('Events of this visitor.'),
  userId: equalTo('Events of this user.'),
})
export type EventQuery = Static<typeof EventQuery>

/** The formats of an export. */
const exportFormats = ['jsonl', 'csv', 'parquet'] as const
export type EventExportFormat = (typeof exportFormats)[number]
/** Maximum `limit` of an export. */
export const MAX_EXPORT_LIMIT = 10_000_000

const EventExportQuery = Type.Object({
  format: Type.Unsafe<EventExportFormat>({
    type: 'string',
    enum: exportFormats,
    default: 'jsonl',
    description:
      'JSON lines; CSV (RFC 4180) with a header, in which text that a spreadsheet would treat as a formula ' +
      'begins with an apostrophe; or Parquet, in which objects are JSON text.',
  }),
  limit: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: MAX_EXPORT_LIMIT,
      description:
        'The largest number of events in the answer; without it, all. An answer with fewer is the last.',
    }),
  ),
  bom: WithBom,
  cursor: Type.Optional(
    Type.String({ maxLength: 1_000, description: 'Events after the one that has this `cursor`.' }),
  ),
  ...matching,
  eventName: equalTo('Events of this name.'),
  visitorId: equalTo('Events of this visitor.'),
  userId: equalTo('Events of this user.'),
})

export const listEvents = defineOperation({
  id: 'listEvents',
  method: 'get',
  path: '/api/projects/{projectId}/events',
  tag: 'Events',
  summary: 'List events; all filters that are given must match',
  description:
    'With `from`, `to` or `filters` a page ends after 2 s, even when it is empty. Continue with `nextCursor`. `profileId` is the present profile of the person: that of a merged profile is the one that it was merged into.',
  access: { by: 'project', role: 'viewer' },
  query: EventQuery,
  answers: { 200: { description: 'A page of events, the last received first', schema: pageOf(EventView) } },
})

export const exportEvents = defineOperation({
  id: 'exportEvents',
  takesLong: true,
  method: 'get',
  path: '/api/projects/{projectId}/events/export',
  tag: 'Events',
  summary: 'Export events as JSON lines, CSV or Parquet',
  description:
    'Streams all events that match, the last received first. Each event has a `cursor`. Send the last one to ' +
    'continue an export that was interrupted or that ended at its `limit`. A Parquet file is readable only ' +
    'when it is complete, so split large exports. At most two exports per project and four per ' +
    'tenant run at the same time per process, and forty in total: then the latest of the tenant with the most is ' +
    'broken off for one with fewer. A client that accepts no data for 30 seconds is disconnected.',
  access: { by: 'project', role: 'viewer' },
  query: EventExportQuery,
  answers: {
    200: {
      description: 'The events',
      contentTypes: ['application/jsonl', 'text/csv', 'application/vnd.apache.parquet'],
    },
    429: { description: 'The maximum number of exports is running', schema: RetryAfterSeconds },
  },
})

const LiveEventQuery = Type.Object({
  eventName: equalTo('Events of this name.'),
  visitorId: equalTo('Events of this visitor.'),
  userId: equalTo('Events of this user.'),
})
export type LiveEventQuery = Static<typeof LiveEventQuery>

export const streamEvents = defineOperation({
  id: 'streamEvents',
  takesLong: true,
  method: 'get',
  path: '/api/projects/{projectId}/events/stream',
  tag: 'Events',
  summary: 'Follow events as they are stored',
  description:
    'An endless stream of server-sent events. The `data` of each is an event as in `listEvents`, at most two seconds ' +
    'after it was stored. An event `gap` with `{ "dropped", "from", "to" }` gives the number of skipped events, up to ' +
    '100,000, and when the first and the last of them were received. Events are skipped when the client is too slow or ' +
    'over 200 arrive at once. `end` means that the client lost its access. A comment is sent at least every 20 s. At ' +
    'most 30 streams per project, 60 per tenant and 200 in total are open at the same time per process. A client that ' +
    'accepts no data for 30 seconds is disconnected.',
  access: { by: 'project', role: 'viewer' },
  query: LiveEventQuery,
  answers: {
    200: { description: 'The stream', contentTypes: ['text/event-stream'] },
    429: { description: 'The maximum number of streams is open', schema: RetryAfterSeconds },
  },
})

export const eventOperations = [listEvents, exportEvents, streamEvents]
