import { type Static, Type } from 'typebox'
import { NullableString, Timestamp } from '../schema-parts.ts'
import { busyOrLate, QUERY_LIMITS } from './analytics-parts.ts'
import { getDeliveryStats } from './delivery-stats.ts'
import { defineOperation } from './operation.ts'
import { equalTo } from './page.ts'
import { getPipelineStats } from './pipeline-stats.ts'

/** The metrics. */
const statsMetrics = ['events', 'visitors', 'warnings', 'conversions', 'revenue'] as const
type StatsMetric = (typeof statsMetrics)[number]

/** The sizes of buckets. */
export const statsIntervals = ['hour', 'day', 'week', 'month'] as const
export type StatsInterval = (typeof statsIntervals)[number]

/** The dimensions of groups. */
const statsGroups = ['name', 'link', 'campaign', 'country', 'device', 'selector'] as const
export type StatsGroup = (typeof statsGroups)[number]

/** Maximum buckets of a result. */
export const MAX_STATS_BUCKETS = 1_000

const time = (description: string) => Type.Optional(Type.String({ format: 'date-time', description }))

const StatsQuery = Type.Object({
  metric: Type.Unsafe<StatsMetric>({
    type: 'string',
    enum: statsMetrics,
    description:
      'Visitors are counted by visitor id, or else by user id. Warnings are all validation warnings of the events. Revenue is by currency.',
  }),
  interval: Type.Unsafe<StatsInterval>({
    type: 'string',
    enum: statsIntervals,
    default: 'day',
    description: 'The length of a bucket, in UTC. Weeks begin on Monday.',
  }),
  from: time('From then on; 30 days before `to` unless said.'),
  to: time('Before then; now unless said.'),
  groupBy: Type.Optional(
    Type.Unsafe<StatsGroup>({
      type: 'string',
      enum: statsGroups,
      description: '`selector` is only for conversions and revenue.',
    }),
  ),
  eventName: equalTo('Only events of this name, or the conversions that they are.'),
  includeBots: Type.Boolean({ default: false, description: 'Whether to include bots.' }),
})
export type StatsQuery = Static<typeof StatsQuery>

const Series = Type.Object({
  group: Type.Unsafe<string | null>({
    ...NullableString,
    description: 'The value of the group; null when it is unknown or without grouping.',
  }),
  other: Type.Boolean({
    description: 'Whether this group combines everything outside the 100 largest groups.',
  }),
  currency: NullableString,
  total: Type.Number({ description: 'The total of the whole range. Visitors count once.' }),
  values: Type.Array(Type.Number(), { description: 'A value for each bucket. Revenue is in minor units.' }),
})

export const StatsView = Type.Object({
  metric: Type.String(),
  interval: Type.String(),
  from: Timestamp,
  to: Timestamp,
  groupBy: NullableString,
  buckets: Type.Array(Timestamp, {
    description: 'The start of each bucket. The first and last bucket may be partial.',
  }),
  series: Type.Array(Series, { description: 'Ordered by total, highest first.' }),
})
export type StatsView = Static<typeof StatsView>

export const getStats = defineOperation({
  id: 'getStats',
  takesLong: true,
  method: 'get',
  path: '/api/projects/{projectId}/stats',
  tag: 'Statistics',
  summary: 'Measure events, visitors, warnings, conversions or revenue over time',
  description: `At most ${MAX_STATS_BUCKETS} buckets. Times are those of the events. Without groups there is always a series, except of revenue that there was none of. ${QUERY_LIMITS}`,
  access: { by: 'project', role: 'viewer' },
  query: StatsQuery,
  answers: { 200: { description: 'The series', schema: StatsView }, ...busyOrLate },
})

export const statsOperations = [getStats, getPipelineStats, getDeliveryStats]
