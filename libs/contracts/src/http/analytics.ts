import { type Static, type TProperties, Type } from 'typebox'
import { NullableString, Timestamp } from '../schema-parts.ts'
import {
  busyOrLate,
  EventName,
  Filters,
  FilterText,
  Groups,
  group,
  PROPERTY_NAME_DESCRIPTION,
  PropertyName,
  QUERY_LIMITS,
  range,
  TimeZone,
} from './analytics-parts.ts'
import { defineOperation } from './operation.ts'
import { equalTo } from './page.ts'
import { statsIntervals } from './stats.ts'

/** The metrics of trends. */
export const analyticsMetrics = [
  'events',
  'people',
  'sessions',
  'conversions',
  'revenue',
  'sum',
  'avg',
  'min',
  'max',
  'p50',
  'p90',
  'p99',
] as const
type AnalyticsMetric = (typeof analyticsMetrics)[number]
/** Metrics of a numeric property. */
export const propertyMetrics: readonly AnalyticsMetric[] = ['sum', 'avg', 'min', 'max', 'p50', 'p90', 'p99']

/** Maximum series of a trend. */
export const MAX_TREND_SERIES = 10
/** Maximum buckets of a trend. */
export const MAX_TREND_BUCKETS = 1_000
/** Maximum of series times groups (including the group of all others) times buckets. */
export const MAX_TREND_VALUES = 50_000
/** Minimum and maximum steps of a funnel. */
const MIN_FUNNEL_STEPS = 2
export const MAX_FUNNEL_STEPS = 10
/** Maximum window of a funnel, in seconds: 366 days. */
export const MAX_FUNNEL_WINDOW_SECONDS = 366 * 24 * 60 * 60
/** Maximum cohorts, and periods after them. */
export const MAX_RETENTION_COHORTS = 200
export const MAX_RETENTION_PERIODS = 100
/** Limits of the steps of a path, and of the links in a result. */
const MIN_PATH_DEPTH = 2
export const MAX_PATH_DEPTH = 6
export const MAX_PATH_LINKS = 500
/** Maximum values in all filters of a query. */
export const MAX_QUERY_VALUES = 1_000
/** Maximum size of a query as JSON, in bytes. */
export const MAX_QUERY_BYTES = 64 * 1024
/** Maximum events, the newest of the range, in which properties and values are searched. */
export const SAMPLED_EVENTS = 50_000

const breakdown = Type.Optional(PropertyName(`What groups have in common: ${PROPERTY_NAME_DESCRIPTION}`))

const trends = {
  series: Type.Array(
    Type.Object({
      eventName: Type.Optional(EventName),
      metric: Type.Unsafe<AnalyticsMetric>({
        type: 'string',
        enum: analyticsMetrics,
        description:
          'People are counted once, after merges, and visitors without a profile by their id. `revenue` is the revenue ' +
          'of conversions, in minor units and by currency. The last seven metrics are of the numbers in `property`.',
      }),
      property: Type.Optional(
        PropertyName('The number that `sum`, `avg`, `min`, `max`, `p50`, `p90` and `p99` are of.'),
      ),
      filters: Type.Optional(Filters),
    }),
    { minItems: 1, maxItems: MAX_TREND_SERIES },
  ),
  ...range,
  interval: Type.Unsafe<(typeof statsIntervals)[number]>({
    type: 'string',
    enum: statsIntervals,
    description: 'Weeks begin on Monday.',
  }),
  timeZone: TimeZone,
  breakdown,
  limit: Groups,
  compareTo: Type.Optional(
    Type.Unsafe<'previous_period'>({
      type: 'string',
      enum: ['previous_period'],
      description: 'The previous range of the same number of intervals.',
    }),
  ),
  includeBots: Type.Optional(Type.Boolean({ description: 'Whether to include bots.' })),
}

const funnel = {
  steps: Type.Array(Type.Object({ eventName: EventName, filters: Type.Optional(Filters) }), {
    minItems: MIN_FUNNEL_STEPS,
    maxItems: MAX_FUNNEL_STEPS,
  }),
  ...range,
  windowSeconds: Type.Integer({
    minimum: 1,
    maximum: MAX_FUNNEL_WINDOW_SECONDS,
    description: 'The time after the first step within which a person must take the other steps.',
  }),
  breakdown,
  limit: Groups,
  order: Type.Optional(
    Type.Unsafe<'ordered' | 'any'>({
      type: 'string',
      enum: ['ordered', 'any'],
      description:
        '`ordered` unless given: each step after the one before. `any`: the first step, then in any order.',
    }),
  ),
}

const retention = {
  startEvent: EventName,
  returnEvent: EventName,
  ...range,
  interval: Type.Unsafe<'day' | 'week' | 'month'>({ type: 'string', enum: ['day', 'week', 'month'] }),
  periods: Type.Integer({ minimum: 1, maximum: MAX_RETENTION_PERIODS }),
  timeZone: TimeZone,
}

const paths = {
  startEvent: Type.Optional(EventName),
  endEvent: Type.Optional(EventName),
  ...range,
  depth: Type.Integer({
    minimum: MIN_PATH_DEPTH,
    maximum: MAX_PATH_DEPTH,
    description: 'Maximum steps of a path.',
  }),
  limit: Type.Integer({
    minimum: 1,
    maximum: MAX_PATH_LINKS,
    description: 'Maximum links in the answer. Links with the most people come first.',
  }),
}

/** A saved query: with a range, or with the range that its reader selects. */
const saved = <P extends TProperties & typeof range>({ from, to, ...rest }: P) =>
  Type.Object({ ...rest, from: Type.Optional(from), to: Type.Optional(to) })

const TrendsRequest = Type.Object(trends)
const FunnelRequest = Type.Object(funnel)
const RetentionRequest = Type.Object(retention)
const PathsRequest = Type.Object(paths)
export type TrendsRequest = Static<typeof TrendsRequest>
export type FunnelRequest = Static<typeof FunnelRequest>
export type RetentionRequest = Static<typeof RetentionRequest>
export type PathsRequest = Static<typeof PathsRequest>

/** The query of each kind of insight. */
export const savedQueries = {
  trends: saved(trends),
  funnel: saved(funnel),
  retention: saved(retention),
  paths: saved(paths),
}

const values = (description: string) => Type.Array(Type.Number(), { description })

const TrendSeries = Type.Object({
  series: Type.Integer({ description: 'The index of the series in the request, from 0.' }),
  eventName: NullableString,
  metric: Type.String(),
  ...group,
  currency: Type.Unsafe<string | null>({
    type: ['string', 'null'],
    description:
      'The currency of `revenue`, which has a series for each; null for other metrics, or when there was no revenue.',
  }),
  total: Type.Number({ description: 'The total of the whole range. People and sessions count once.' }),
  values: values('One for each bucket; 0 where there was nothing.'),
  previousTotal: Type.Optional(Type.Number({ description: 'The total of the previous period.' })),
  previousValues: Type.Optional(values('One for each of `previousBuckets`.')),
})
export const TrendsView = Type.Object({
  buckets: Type.Array(Timestamp, {
    description: 'The start of each bucket, in UTC. The first and last bucket may be partial.',
  }),
  previousBuckets: Type.Optional(Type.Array(Timestamp)),
  series: Type.Array(TrendSeries, {
    description:
      'The series in the order of the request. The groups of a series are ordered by total, and the group of all others comes last.',
  }),
})
export type TrendsView = Static<typeof TrendsView>

const Rate = Type.Number({ description: 'From 0 to 1. It is 0 when no person reached the step before.' })
const FunnelSteps = Type.Array(
  Type.Object({
    eventName: Type.String(),
    people: Type.Integer(),
    rateFromFirst: Rate,
    rateFromPrevious: Rate,
    medianSecondsFromPrevious: Type.Unsafe<number | null>({
      type: ['number', 'null'],
      description: 'Null for the first step, for a step that no person reached, and when `order` is `any`.',
    }),
  }),
)
export const FunnelView = Type.Object({
  steps: FunnelSteps,
  groups: Type.Optional(
    Type.Array(Type.Object({ ...group, steps: FunnelSteps }), {
      description:
        'With a breakdown: the steps by its value at the first step, ordered by the people at the first step.',
    }),
  ),
})
export type FunnelView = Static<typeof FunnelView>

export const RetentionView = Type.Object({
  cohorts: Type.Array(
    Type.Object({
      at: Type.String({ ...Timestamp, description: 'The start of the cohort’s interval.' }),
      size: Type.Integer({
        description: 'People whose first `startEvent` in the range is in the interval.',
      }),
      returned: Type.Array(Type.Integer(), {
        description:
          'The people of the cohort with a `returnEvent` in period 0 (the interval itself), 1, … `periods`.',
      }),
    }),
  ),
})
export type RetentionView = Static<typeof RetentionView>

export const PathsView = Type.Object({
  nodes: Type.Array(
    Type.Object({
      id: Type.String(),
      step: Type.Integer({ description: 'The number of the step, from 0.' }),
      name: Type.String({ description: 'The event name, or the path of the page for a `page_view`.' }),
    }),
  ),
  links: Type.Array(
    Type.Object({
      source: Type.String({ description: 'The id of a node.' }),
      target: Type.String({ description: 'The id of a node of the next step.' }),
      people: Type.Integer(),
    }),
    { description: 'Ordered by the number of people, highest first.' },
  ),
})
export type PathsView = Static<typeof PathsView>

const optionalTime = (description: string) =>
  Type.Optional(Type.String({ format: 'date-time', maxLength: 40, description }))
const suggestionRange = {
  eventName: equalTo('Only of events of this name.'),
  from: optionalTime('Events from this time on; 30 days before `to` unless given.'),
  to: optionalTime('Events before this time; now unless given.'),
  limit: Type.Integer({ minimum: 1, maximum: 500, default: 100 }),
}
const PropertiesQuery = Type.Object(suggestionRange)
const PropertiesView = Type.Object({
  data: Type.Array(
    Type.Object({
      name: Type.String({ description: 'The name for filters and breakdowns, such as `properties.price`.' }),
      types: Type.Array(Type.Enum(['string', 'number', 'boolean', 'object', 'array'])),
      share: Type.Number({ description: 'The share of the examined events that have it, from 0 to 1.' }),
      lastSeen: Timestamp,
    }),
  ),
})

const PropertyValuesQuery = Type.Object({
  property: PropertyName(PROPERTY_NAME_DESCRIPTION),
  q: Type.Optional({ ...FilterText, description: 'A part of the value. Case does not matter.' }),
  ...suggestionRange,
})
const PropertyValuesView = Type.Object({
  data: Type.Array(
    Type.Object({
      value: Type.String({ description: 'The value as text. Objects and lists are JSON.' }),
      events: Type.Integer(),
    }),
  ),
})

const tag = 'Analytics'
const at = (resource: string) => `/api/projects/{projectId}/analytics/${resource}`
const access = { by: 'project', role: 'viewer' } as const
const analyticsQuery = { takesLong: true, readOnly: true, method: 'post', tag, access } as const

export const measureTrends = defineOperation({
  ...analyticsQuery,
  id: 'measureTrends',
  path: at('trends'),
  summary: 'Measure events, people, conversions or a property over time',
  description: QUERY_LIMITS,
  body: TrendsRequest,
  answers: { 200: { description: 'The series', schema: TrendsView }, ...busyOrLate },
})

export const measureFunnel = defineOperation({
  ...analyticsQuery,
  id: 'measureFunnel',
  path: at('funnel'),
  summary: 'Count the people who take one step after another',
  description: `A person enters at the first step within the range. ${QUERY_LIMITS}`,
  body: FunnelRequest,
  answers: { 200: { description: 'The steps', schema: FunnelView }, ...busyOrLate },
})

export const measureRetention = defineOperation({
  ...analyticsQuery,
  id: 'measureRetention',
  path: at('retention'),
  summary: 'Count the people who come back',
  description: QUERY_LIMITS,
  body: RetentionRequest,
  answers: { 200: { description: 'The cohorts, the earliest first', schema: RetentionView }, ...busyOrLate },
})

export const measurePaths = defineOperation({
  ...analyticsQuery,
  id: 'measurePaths',
  path: at('paths'),
  summary: 'Count the ways that people take within a session',
  description: `From \`startEvent\` on, or up to \`endEvent\`, or both; without them from the beginning. ${QUERY_LIMITS}`,
  body: PathsRequest,
  answers: { 200: { description: 'The steps and the ways between them', schema: PathsView }, ...busyOrLate },
})

const suggestion = { takesLong: true, method: 'get', tag, access } as const
const sampled = `Of the newest ${SAMPLED_EVENTS} events of the range. ${QUERY_LIMITS}`

export const listProperties = defineOperation({
  ...suggestion,
  id: 'listProperties',
  path: at('properties'),
  summary: 'List the properties of events',
  description: sampled,
  query: PropertiesQuery,
  answers: { 200: { description: 'The most frequent first', schema: PropertiesView }, ...busyOrLate },
})

export const listPropertyValues = defineOperation({
  ...suggestion,
  id: 'listPropertyValues',
  path: at('property-values'),
  summary: 'List the values of a property',
  description: sampled,
  query: PropertyValuesQuery,
  answers: { 200: { description: 'The most frequent first', schema: PropertyValuesView }, ...busyOrLate },
})

export const analyticsOperations = [
  measureTrends,
  measureFunnel,
  measureRetention,
  measurePaths,
  listProperties,
  listPropertyValues,
]
