import { MAX_TREND_BUCKETS } from '@waymark/contracts/http/analytics'
import type { FilterRequest } from '@waymark/contracts/http/analytics-parts'
import {
  DEFAULT_WEB_ROWS,
  ONLINE_MS,
  type WebFigures,
  type WebRequest,
  type WebView,
} from '@waymark/contracts/http/web-analytics'
import {
  previousPeriod,
  type TimeRange,
  type VisitField,
  type VisitRow,
  visitFields,
  type WebQuery,
} from '@waymark/event-store'
import { unprocessable } from '../http/validation.ts'
import { readFilter, requireFewValues } from './read-filters.ts'
import type { QueryStore } from './run-queries.ts'
import { readBuckets, readRange, readTimeZone, timeText } from './time-range.ts'

type Period = TimeRange & { buckets: readonly number[] }
type WebPlan = {
  period: Period
  previous: Period | undefined
  query: Omit<WebQuery, 'projectId' | keyof Period>
}

/** The longest range that has an interval of an hour unless another one is given. */
const HOURLY_MS = 2 * 24 * 3_600_000
const QUARTER_HOUR_MS = 15 * 60_000
const VISIT_PREFIX = 'visit.'

/** Reads a query about visits. @throws AppError unprocessable with the invalid field */
export const readWeb = (request: WebRequest): WebPlan => {
  const { filters = [], limit = DEFAULT_WEB_ROWS } = request
  const range = readRange(request)
  const interval = request.interval ?? (range.to - range.from <= HOURLY_MS ? 'hour' : 'day')
  const timeZone = readTimeZone(request.timeZone)
  const period = { ...range, buckets: readBuckets(interval, timeZone, range, MAX_TREND_BUCKETS) }
  requireFewValues('filters', [filters])
  return {
    period,
    previous: request.compareTo === undefined ? undefined : previousPeriod(interval, timeZone, period),
    query: { ...readWebFilters(filters), limit },
  }
}

const readWebFilters = (requests: readonly FilterRequest[]): Pick<WebQuery, 'filters' | 'visitFilters'> => {
  const filters: WebQuery['filters'][number][] = []
  const visitFilters: WebQuery['visitFilters'][number][] = []
  for (const [index, request] of requests.entries()) {
    const place = `filters.${index}`
    if (request.property.startsWith(VISIT_PREFIX)) {
      const field = readVisitField(place, request.property)
      // A field of a visit is a text, such as the name of an event is.
      visitFilters.push({ field, filter: readFilter(place, { ...request, property: 'eventName' }) })
    } else filters.push(readFilter(place, request))
  }
  return { filters, visitFilters }
}

const readVisitField = (place: string, property: string): VisitField => {
  const field = visitFields.find((one) => property === VISIT_PREFIX + one)
  if (field) return field
  throw unprocessable(
    `${place}.property`,
    'property',
    `must be a property of an event, or one of ${visitFields.map((one) => VISIT_PREFIX + one).join(', ')}`,
    property,
  )
}

/** Runs a query about visits. @param now the time in ms at which visitors are online */
export const answerWeb = async (
  queryStore: QueryStore,
  projectId: string,
  { period, previous, query }: WebPlan,
  now: number,
): Promise<WebView> => {
  const current = { projectId, ...period, ...query }
  const rows = await queryStore((store) => store.measureVisits(current))
  const pages = await queryStore((store) => store.measurePages(current))
  const goals = await queryStore((store) => store.measureGoals(current))
  const earlier =
    previous &&
    (await queryStore((store) => store.measureVisits({ projectId, ...previous, ...query, limit: 0 })))
  const totals = totalsIn(rows)
  const revenueOf = (kind: string, value: string | null) =>
    goals
      .filter((goal) => goal.kind === kind && goal.value === value && goal.currency !== null)
      .map(({ currency, amount }) => ({ currency: currency ?? '', amount }))
  const rowsOf = (field: VisitField) =>
    rows
      .filter(({ kind }) => kind === field)
      .sort((a, b) => b.visits - a.visits || ((a.value ?? '') < (b.value ?? '') ? -1 : 1))
      .map((row) => ({
        value: row.value,
        ...visitFiguresOf(row),
        conversionRate: shareOf(row.converted, row.visits),
      }))
  const withRevenue = (field: 'channel' | 'source' | 'campaign') =>
    rowsOf(field).map((row) => ({ ...row, revenue: revenueOf(field, row.value) }))
  return {
    buckets: period.buckets.map(timeText),
    totals,
    series: seriesIn(rows, period.buckets.length),
    ...(previous &&
      earlier && {
        previousBuckets: previous.buckets.map(timeText),
        previousTotals: totalsIn(earlier),
        previousSeries: seriesIn(earlier, previous.buckets.length),
      }),
    online: await countOnline(queryStore, projectId, now),
    pages: pages.map(({ path, visitors, views }) => ({ value: path, visitors, views })),
    entryPages: rowsOf('entryPage'),
    exitPages: rowsOf('exitPage'),
    channels: withRevenue('channel'),
    sources: withRevenue('source'),
    campaigns: withRevenue('campaign'),
    countries: rowsOf('country'),
    browsers: rowsOf('browser'),
    operatingSystems: rowsOf('os'),
    devices: rowsOf('device'),
    goals: goals
      .filter(({ kind, currency }) => kind === 'selector' && currency === null)
      .map(({ value, conversions, visits }) => ({
        selectorId: value ?? '',
        conversions,
        visits,
        conversionRate: shareOf(visits, totals.visits),
        revenue: revenueOf('selector', value),
      })),
  }
}

const shareOf = (part: number, whole: number): number => (whole === 0 ? 0 : part / whole)

const NOTHING = { visitors: 0, visits: 0, views: 0, bounces: 0, durationMs: 0 }

type Counts = Omit<VisitRow, 'kind' | 'value' | 'converted'>

const visitFiguresOf = ({ visits, views, bounces, durationMs }: Counts): Omit<WebFigures, 'visitors'> => ({
  visits,
  views,
  bounceRate: shareOf(bounces, visits),
  visitSeconds: shareOf(durationMs / 1_000, visits),
})

const figuresOf = (counts: Counts): WebFigures => ({
  visitors: counts.visitors ?? 0,
  ...visitFiguresOf(counts),
})

const totalsIn = (rows: readonly VisitRow[]): WebFigures =>
  figuresOf(rows.find(({ kind }) => kind === 'total') ?? NOTHING)

const seriesIn = (rows: readonly VisitRow[], buckets: number): WebFigures[] => {
  const found = new Map(rows.filter(({ kind }) => kind === 'bucket').map((row) => [row.value, row]))
  return Array.from({ length: buckets }, (_, bucket) => figuresOf(found.get(`${bucket}`) ?? NOTHING))
}

const countOnline = async (queryStore: QueryStore, projectId: string, now: number): Promise<number> => {
  const from = now - ONLINE_MS
  const rows = await queryStore((store) =>
    store.measureTrend({
      projectId,
      metric: 'visitors',
      from,
      to: now,
      filters: [],
      maxGroups: 1,
      includeBots: false,
      buckets: [Math.floor(from / QUARTER_HOUR_MS) * QUARTER_HOUR_MS],
    }),
  )
  return rows.find(({ bucket }) => bucket === null)?.value ?? 0
}
