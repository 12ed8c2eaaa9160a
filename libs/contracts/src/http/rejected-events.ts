import { Type } from 'typebox'
import { CompleteEvent } from '../records/enriched-event.ts'
import { Id, NullableTimestamp, Timestamp } from '../schema-parts.ts'
import { Unprocessable } from './error-bodies.ts'
import { defineOperation } from './operation.ts'
import { equalTo, PageQuery, pageOf } from './page.ts'
import { ReplayResult, replayFilter } from './replay.ts'
import { ValidationItem } from './track-result.ts'

const RejectedEventView = Type.Object({
  id: Id,
  eventId: Type.String(),
  eventName: Type.String(),
  event: CompleteEvent,
  errors: Type.Array(ValidationItem),
  rejectedAt: Timestamp,
  replayedAt: NullableTimestamp,
})

const tag = 'Rejected events'
const collection = '/api/projects/{projectId}/rejected-events'
const rejected = { description: 'The event and why it was rejected', schema: RejectedEventView }

export const listRejectedEvents = defineOperation({
  id: 'listRejectedEvents',
  method: 'get',
  path: collection,
  tag,
  summary: 'List the events that `enforce` turned away, and the refused messages of Segment’s protocol',
  access: { by: 'project', role: 'viewer' },
  query: PageQuery,
  answers: {
    200: { description: 'A page of rejected events, the newest first', schema: pageOf(RejectedEventView) },
  },
})

export const getRejectedEvent = defineOperation({
  id: 'getRejectedEvent',
  method: 'get',
  path: `${collection}/{id}`,
  tag,
  summary: 'Read a rejected event',
  access: { by: 'project', role: 'viewer' },
  answers: { 200: rejected },
})

export const replayRejectedEvent = defineOperation({
  id: 'replayRejectedEvent',
  method: 'post',
  path: `${collection}/{id}/replay`,
  tag,
  summary: 'Replay a rejected event',
  access: { by: 'project', role: 'editor' },
  effects: [],
  answers: {
    202: rejected,
    422: { description: 'The event still does not match its definition', schema: Unprocessable },
  },
})

export const replayRejectedEvents = defineOperation({
  id: 'replayRejectedEvents',
  takesLong: true,
  method: 'post',
  path: `${collection}/replay`,
  tag,
  summary: 'Replay rejected events: those named, those that match, or all',
  description:
    'Replays up to 1,000 records per request, without those that were replayed before. While `remaining` is not 0, continue with `nextCursor`.',
  access: { by: 'project', role: 'editor' },
  effects: [],
  body: Type.Object({
    ...replayFilter,
    eventName: equalTo('Those of this name.'),
  }),
  answers: { 200: { description: 'The result of the replay', schema: ReplayResult } },
})

export const rejectedEventOperations = [
  listRejectedEvents,
  getRejectedEvent,
  replayRejectedEvent,
  replayRejectedEvents,
]
