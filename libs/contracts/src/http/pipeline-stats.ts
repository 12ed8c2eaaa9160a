import { type Static, Type } from 'typebox'
import { defineOperation } from './operation.ts'

/** Maximum of counted rejected events and dead letters. */
export const MAX_COUNTED_FAILURES = 1_000
/** Maximum of counted records in the outbox. */
export const MAX_COUNTED_WAITING = 100_000

const GroupLagView = Type.Object({
  group: Type.String(),
  topic: Type.String(),
  lag: Type.Integer({ minimum: 0, description: 'Records that the group has yet to process.' }),
})

export const PipelineStatsView = Type.Object({
  consumerGroups: Type.Unsafe<Static<typeof GroupLagView>[] | null>({
    type: ['array', 'null'],
    items: GroupLagView,
    description: 'Of the whole installation; null when the queue does not answer within 3 s.',
  }),
  outbox: Type.Object(
    {
      records: Type.Integer({ minimum: 0, maximum: MAX_COUNTED_WAITING }),
      oldestSeconds: Type.Number({ minimum: 0, description: 'The age of the oldest record.' }),
    },
    {
      description: `Records of the whole installation that wait to be published; among them, while the queue is unavailable, the events of gateways. Counted up to ${MAX_COUNTED_WAITING}.`,
    },
  ),
  rejectedEvents: Type.Integer({
    minimum: 0,
    maximum: MAX_COUNTED_FAILURES,
    description: `Rejected events of the project that were not replayed, counted up to ${MAX_COUNTED_FAILURES}.`,
  }),
  deadLetters: Type.Integer({
    minimum: 0,
    maximum: MAX_COUNTED_FAILURES,
    description: `Dead letters of the project that were not replayed, counted up to ${MAX_COUNTED_FAILURES}.`,
  }),
})
export type PipelineStatsView = Static<typeof PipelineStatsView>

export const getPipelineStats = defineOperation({
  id: 'getPipelineStats',
  method: 'get',
  path: '/api/projects/{projectId}/stats/pipeline',
  tag: 'Statistics',
  summary: 'Read the lag of consumers, the outbox, and the number of rejected events and dead letters',
  description: 'Lag and outbox are read at most every 2 seconds.',
  access: { by: 'project', role: 'viewer' },
  answers: { 200: { description: 'The state of the pipeline', schema: PipelineStatsView } },
})
