import {
  MAX_TREND_BUCKETS,
  MAX_TREND_VALUES,
  propertyMetrics,
  type TrendsRequest,
  type TrendsView,
} from '@waymark/contracts/http/analytics'
import { DEFAULT_ANALYTICS_GROUPS } from '@waymark/contracts/http/analytics-parts'
import { previousPeriod, type TimeRange, type TrendMetric, type TrendQuery } from '@waymark/event-store'
import { unprocessable } from '../http/validation.ts'
import { groupRows } from './group-rows.ts'
import { readFilters, readProperty, requireFewValues } from './read-filters.ts'
import type { QueryStore } from './run-queries.ts'
import { readBuckets, readRange, readTimeZone, timeText } from './time-range.ts'

type SeriesRequest = TrendsRequest['series'][number]
type Series = TrendsView['series'][number]
type Period = TimeRange & { buckets: readonly number[] }

/** The queries of a trend on the store: one for each series and period. */
type TrendsPlan = {
  period: Period
  previous: Period | undefined
  series: { request: SeriesRequest; query: Omit<TrendQuery, 'projectId' | keyof Period> }[]
}

const COUNTS: ReadonlySet<TrendMetric> = new Set(['events', 'people', 'sessions', 'conversions'])
const SUMS: ReadonlySet<TrendMetric> = new Set(['revenue', 'sum'])

/** Whether the values of a metric are numbers of events or people. */
export const isCountMetric = (metric: TrendMetric): boolean => COUNTS.has(metric)

/** The value of an interval without events: 0 for counts and sums; null where nothing can be computed. */
export const emptyValueOf = (metric: TrendMetric): 0 | null =>
  COUNTS.has(metric) || SUMS.has(metric) ? 0 : null

/** Reads a trend query. @throws AppError unprocessable with the invalid field */
export const readTrends = (request: TrendsRequest): TrendsPlan => {
  const { interval, breakdown, limit = DEFAULT_ANALYTICS_GROUPS, includeBots = false } = request
  const range = readRange(request)
  const timeZone = readTimeZone(request.timeZone)
  const buckets = readBuckets(interval, timeZone, range, MAX_TREND_BUCKETS)
  requireFewNumbers(request.series.length, breakdown === undefined ? 1 : limit + 1, buckets.length)
  requireFewValues(
    'series',
    request.series.map(({ filters }) => filters),
  )
  return {
    period: { ...range, buckets },
    previous:
      request.compareTo === undefined ? undefined : previousPeriod(interval, timeZone, { ...range, buckets }),
    series: request.series.map((series, index) => ({
      request: series,
      query: {
        metric: series.metric,
        eventName: series.eventName,
        property: measuredProperty(series, `series.${index}.property`),
        filters: readFilters(`series.${index}.filters`, series.filters),
        breakdown: breakdown === undefined ? undefined : readProperty('breakdown', breakdown),
        maxGroups: limit,
        includeBots,
      },
    })),
  }
}

const measuredProperty = ({ metric, property }: SeriesRequest, field: string) => {
  const isNeeded = propertyMetrics.includes(metric)
  if (property !== undefined && isNeeded) return readProperty(field, property)
  if (isNeeded) throw unprocessable(field, 'required', `is required with the metric ${metric}`)
  if (property !== undefined)
    throw unprocessable(
      field,
      'metric',
      `is used only with the metrics ${propertyMetrics.join(', ')}`,
      property,
    )
  return undefined
}

const requireFewNumbers = (series: number, groups: number, buckets: number): void => {
  const numbers = series * groups * buckets
  if (numbers <= MAX_TREND_VALUES) return
  throw unprocessable(
    groups > 1 ? 'limit' : 'interval',
    'max_values',
    `gives too large an answer: ${series} series with ${groups} groups and ${buckets} buckets are ${numbers} numbers; at ` +
      `most ${MAX_TREND_VALUES} are allowed. Ask for fewer series or groups, or for a longer interval`,
  )
}

/** Runs a trend query. */
export const answerTrends = async (
  queryStore: QueryStore,
  projectId: string,
  { period, previous, series }: TrendsPlan,
): Promise<TrendsView> => {
  const found: Series[] = []
  for (const [index, { request, query }] of series.entries()) {
    const rows = await queryStore((store) => store.measureTrend({ projectId, ...period, ...query }))
    const groups = new Set(rows.filter(({ other }) => !other).map(({ group }) => group))
    // The groups of the current period, although others were greater in the previous one.
    const earlier =
      previous &&
      (await queryStore((store) =>
        store.measureTrend({ projectId, ...previous, ...query, groups: [...groups] }),
      ))
    const identity = { series: index, eventName: request.eventName ?? null, metric: request.metric }
    const groupedRows = groupRows(rows, {
      buckets: period.buckets.length,
      previous: earlier,
      fillEmpty: query.breakdown === undefined,
    })
    found.push(...groupedRows.map((numbers) => ({ ...identity, ...numbers })))
  }
  return {
    buckets: period.buckets.map(timeText),
    ...(previous && { previousBuckets: previous.buckets.map(timeText) }),
    series: found,
  }
}
