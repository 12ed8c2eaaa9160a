import { type Breakdown, type TrendRow, zonedBuckets } from '@waymark/analytics'
import {
  dateOfTime,
  getStats,
  MAX_STATS_BUCKETS,
  type StatsGroup,
  type StatsQuery,
  type StatsView,
} from '@waymark/contracts'
import type { Platform, Route } from '@waymark/service-kit'
import type { ProjectRouteFactory } from '../http/project-route.ts'
import { unprocessable } from '../http/validation.ts'

const DEFAULT_SPAN_MS = 30 * 24 * 60 * 60 * 1000

/** Groups that are told apart; all others are one group. */
const MAX_GROUPS = 100

const BREAKDOWNS: Record<StatsGroup, Breakdown> = {
  name: { source: 'column', column: 'eventName' },
  link: { source: 'column', column: 'link' },
  campaign: { source: 'column', column: 'utmCampaign' },
  country: { source: 'column', column: 'country' },
  device: { source: 'column', column: 'device' },
  selector: { source: 'selector' },
}

type Deps = Pick<Platform, 'analytics' | 'clock'> & { projectRoute: ProjectRouteFactory }

/** A project's figures over time. */
export const statsRoutes = ({ projectRoute, analytics, clock }: Deps): Route[] => [
  projectRoute(getStats, async ({ projectId, query }) => {
    const { metric, interval, groupBy, eventName, includeBots } = query
    const { from, to, buckets } = placeInTime(query, clock())
    const rows = await analytics.measureTrend({
      ...{ projectId, metric, eventName, includeBots, from, to, buckets },
      filters: [],
      breakdown: groupBy && BREAKDOWNS[groupBy],
      maxGroups: MAX_GROUPS,
    })
    const body = {
      ...{ metric, interval, groupBy: groupBy ?? null },
      from: new Date(from).toISOString(),
      to: new Date(to).toISOString(),
      buckets: buckets.map((at) => new Date(at).toISOString()),
      series: seriesOf(rows, buckets),
    } satisfies StatsView
    const isEmpty = body.series.length === 0 && groupBy === undefined && metric !== 'revenue'
    return { body: isEmpty ? { ...body, series: [nothing(buckets.length)] } : body }
  }),
]

/**
 * Reads what time is asked for.
 * @throws AppError unprocessable when it is none, or too long for its interval, or grouped by what events do not have
 */
export const placeInTime = (
  { metric, interval, groupBy, ...query }: StatsQuery,
  now: number,
): { from: number; to: number; buckets: number[] } => {
  if (groupBy === 'selector' && metric !== 'conversions' && metric !== 'revenue')
    throw unprocessable(
      'groupBy',
      'metric',
      'selector is only for the metrics conversions and revenue',
      metric,
    )
  const to = query.to === undefined ? now : dateOfTime(query.to).getTime()
  const from = query.from === undefined ? to - DEFAULT_SPAN_MS : dateOfTime(query.from).getTime()
  if (from >= to) throw unprocessable('from', 'order', 'must be before to', new Date(from).toISOString())
  const buckets = zonedBuckets(interval, 'UTC', from, to, MAX_STATS_BUCKETS)
  if (buckets) return { from, to, buckets }
  throw unprocessable('interval', 'max', `gives more than ${MAX_STATS_BUCKETS} buckets between from and to`)
}

const nothing = (length: number) => ({
  group: null,
  other: false,
  currency: null,
  total: 0,
  values: new Array<number>(length).fill(0),
})

/** Puts rows into series, each with a number for every bucket; the greatest total first, what is left over last. */
export const seriesOf = (rows: readonly TrendRow[], buckets: readonly number[]): StatsView['series'] => {
  const found = new Map<string, StatsView['series'][number]>()
  for (const { bucket, group, other, currency, value } of rows) {
    const key = JSON.stringify([group, other, currency])
    const series = found.get(key) ?? { ...nothing(buckets.length), group, other, currency }
    found.set(key, series)
    if (bucket === null) series.total = value
    else series.values[bucket] = value
  }
  return [...found.values()].sort((a, b) => Number(a.other) - Number(b.other) || b.total - a.total)
}
