import { Type } from 'typebox'
import { JsonObject, NullableString, NullableTimestamp, Timestamp } from '../schema-parts.ts'
import { Unprocessable } from './error-bodies.ts'
import { defineOperation } from './operation.ts'
import { equalTo, PageQuery, pageOf } from './page.ts'
import { ReplayResult, replayFilter } from './replay.ts'

const DeadLetterView = Type.Object({
  id: Type.String(),
  group: Type.String({ description: 'The consumer group that could not process it.' }),
  topic: Type.String(),
  partition: Type.Integer(),
  offset: Type.String(),
  key: NullableString,
  value: Type.String({ description: 'The unchanged record.' }),
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
  description:
    'Every consumer group receives the record again. Groups that have processed it ignore the repeat.',
  access: { by: 'project', role: 'editor' },
  effects: [],
  answers: {
    202: { description: 'The record was published', schema: DeadLetterView },
    422: { description: 'The record does not match the schema of its topic', schema: Unprocessable },
  },
})

export const replayDeadLetters = defineOperation({
  id: 'replayDeadLetters',
  method: 'post',
  path: `${collection}/replay`,
  tag,
  summary: 'Replay dead letters: those named, those that match, or all',
  description:
    'Replays up to 1,000 records per request, without those that were replayed before. While `remaining` is not 0, continue with `nextCursor`.',
  access: { by: 'project', role: 'editor' },
  effects: [],
  takesLong: true,
  body: Type.Object({
    ...replayFilter,
    topic: equalTo('Those of this topic.'),
    group: equalTo('Those of these consumers.'),
  }),
  answers: { 200: { description: 'The result of the replay', schema: ReplayResult } },
})

export const deadLetterOperations = [listDeadLetters, replayDeadLetter, replayDeadLetters]
