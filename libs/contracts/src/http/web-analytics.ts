import { type Static, Type } from 'typebox'
import { NullableString, Timestamp } from '../schema-parts.ts'
import { busyOrLate, Filter, MAX_FILTERS, QUERY_LIMITS, range, TimeZone } from './analytics-parts.ts'
import { defineOperation } from './operation.ts'
import { statsIntervals } from './stats.ts'

/** Maximum and default number of rows of each list. */
export const MAX_WEB_ROWS = 100
export const DEFAULT_WEB_ROWS = 10
/** Until so long after an event, in ms, its visitor is online. */
export const ONLINE_MS = 5 * 60_000

export const WebRequest = Type.Object({
  ...range,
  interval: Type.Optional(
    Type.Unsafe<(typeof statsIntervals)[number]>({
      type: 'string',
      enum: statsIntervals,
      description: '`hour` unless given for a range of up to two days, otherwise `day`.',
    }),
  ),
  timeZone: TimeZone,
  filters: Type.Optional(
    Type.Array(Filter, {
      maxItems: MAX_FILTERS,
      description:
        'Select visits. A property is one of the visit: `visit.channel`, `visit.source`, `visit.campaign`, ' +
        '`visit.entryPage`, `visit.exitPage`, `visit.country`, `visit.browser`, `visit.os` or `visit.device`. Or it is ' +
        'one of an event: then a visit is selected if one of its events matches all such filters.',
    }),
  ),
  limit: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: MAX_WEB_ROWS,
      description: `Rows of each list, the most frequent first; ${DEFAULT_WEB_ROWS} unless given.`,
    }),
  ),
  compareTo: Type.Optional(
    Type.Unsafe<'previous_period'>({
      type: 'string',
      enum: ['previous_period'],
      description: 'The previous range of the same number of intervals.',
    }),
  ),
})
export type WebRequest = Static<typeof WebRequest>

const Rate = (description: string) => Type.Number({ description: `${description}, from 0 to 1` })
const figuresOfVisits = {
  visits: Type.Integer(),
  views: Type.Integer({ description: 'Page views.' }),
  bounceRate: Rate('The share of visits with one page view and less than 10 s'),
  visitSeconds: Type.Number({ description: 'The mean time from the first event of a visit to its last.' }),
}
const Figures = Type.Object({
  visitors: Type.Integer({ description: 'Distinct visitors: people, and visitors without a profile.' }),
  ...figuresOfVisits,
})
export type WebFigures = Static<typeof Figures>

const Revenue = Type.Array(
  Type.Object({ currency: Type.String(), amount: Type.Number({ description: 'In minor units.' }) }),
)
const row = {
  value: Type.Unsafe<string | null>({ type: ['string', 'null'], description: 'Null when it is unknown.' }),
  ...figuresOfVisits,
  conversionRate: Rate('The share of visits with a conversion'),
}
const Rows = Type.Array(Type.Object(row))
const RowsWithRevenue = Type.Array(Type.Object({ ...row, revenue: Revenue }))

export const WebView = Type.Object({
  buckets: Type.Array(Timestamp, { description: 'The start of each bucket, in UTC.' }),
  totals: Figures,
  series: Type.Array(Figures, { description: 'One for each bucket. A visit is in that in which it begins.' }),
  previousBuckets: Type.Optional(Type.Array(Timestamp)),
  previousTotals: Type.Optional(Figures),
  previousSeries: Type.Optional(Type.Array(Figures)),
  online: Type.Integer({ description: 'Visitors with an event in the last five minutes, without filters.' }),
  pages: Type.Array(Type.Object({ value: NullableString, visitors: Type.Integer(), views: Type.Integer() })),
  entryPages: Rows,
  exitPages: Rows,
  channels: RowsWithRevenue,
  sources: RowsWithRevenue,
  campaigns: RowsWithRevenue,
  countries: Rows,
  browsers: Rows,
  operatingSystems: Rows,
  devices: Rows,
  goals: Type.Array(
    Type.Object({
      selectorId: Type.String({ format: 'uuid', description: 'The metering selector.' }),
      conversions: Type.Integer(),
      visits: Type.Integer({ description: 'Visits with such a conversion.' }),
      conversionRate: Rate('Their share of all visits'),
      revenue: Revenue,
    }),
    { description: 'Conversions within visits, the most frequent first.' },
  ),
})
export type WebView = Static<typeof WebView>

export const measureWeb = defineOperation({
  id: 'measureWeb',
  method: 'post',
  path: '/api/projects/{projectId}/analytics/web',
  tag: 'Analytics',
  takesLong: true,
  readOnly: true,
  summary: 'Measure visits: how many, from where, and which pages',
  description:
    'A visit consists of the events in the range that a visitor sent with the same `sessionId`, or of those without one ' +
    `that follow each other within 30 minutes. Only visits with a \`page_view\` count, and none of bots. ${QUERY_LIMITS}`,
  access: { by: 'project', role: 'viewer' },
  body: WebRequest,
  answers: { 200: { description: 'The figures', schema: WebView }, ...busyOrLate },
})

export const webAnalyticsOperations = [measureWeb]
