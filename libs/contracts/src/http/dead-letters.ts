import { Type } from 'typebox'
import { JsonObject, NullableString, NullableTimestamp, Timestamp } from '../schema-parts.ts'
import { Unprocessable } from './error-bodies.ts'
import { defineOperation } from './operation.ts'
import { equalTo, PageQuery, pageOf } from './page.ts'
import { ReplayResult, replayFilter } from './replay.ts'

const DeadLetterView = Type.Object({
  id: Type.String(),
  group: Type.String({ description: 'The consumers that could not process it.' }),
  topic: Type.String(),
  partition: Type.Integer(),
  offset: Type.String(),
  key: NullableString,
  value: Type.String({ description: 'The record as it was read.' }),
  headers: JsonObject,
  reason: Type.String(),
  failedAt: Timestamp,
  replayedAt: NullableTimestamp,
})

const tag = 'Dead letters'
const collection = '/api/projects/{projectId}/dead-letters'

export const listDeadLetters = defineOperation({
  id: 'listDeadLetters',
  method: 'get',
  path: collection,
  tag,
  summary: 'List the records that a consumer could not process',
  access: { by: 'project', role: 'viewer' },
  query: PageQuery,
  answers: {
    200: { description: 'A page of dead letters, the last failed first', schema: pageOf(DeadLetterView) },
  },
})

export const replayDeadLetter = defineOperation({
  id: 'replayDeadLetter',
  method: 'post',
  path: `${collection}/{id}/replay`,
  tag,
  summary: 'Replay a dead letter',
  description: 'Every consumer group reads it again; those that had processed it drop the repeat.',
  access: { by: 'project', role: 'editor' },
  answers: {
    202: { description: 'Sent', schema: DeadLetterView },
    422: { description: 'It does not fit its topic and would fail again', schema: Unprocessable },
  },
})

export const replayDeadLetters = defineOperation({
  id: 'replayDeadLetters',
  method: 'post',
  path: `${collection}/replay`,
  tag,
  summary: 'Replay dead letters: those named, those that match, or all',
  description:
    'Up to 1,000 a request; while `remaining` is not 0, go on with `nextCursor`. Those that were replayed before are left out.',
  access: { by: 'project', role: 'editor' },
  takesLong: true,
  body: Type.Object({
    ...replayFilter,
    topic: equalTo('Those of this topic.'),
    group: equalTo('Those of these consumers.'),
  }),
  answers: { 200: { description: 'What became of them', schema: ReplayResult } },
})

export const deadLetterOperations = [listDeadLetters, replayDeadLetter, replayDeadLetters]
