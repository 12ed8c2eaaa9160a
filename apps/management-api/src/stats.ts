import type { MetricRow } from '@waymark/analytics'
import { dateOfTime, getStats, MAX_STATS_BUCKETS, type StatsQuery, type StatsView } from '@waymark/contracts'
import { timeBuckets } from '@waymark/domain'
import type { Platform, Route } from '@waymark/service-kit'
import type { ProjectRouteFactory } from './project-route.ts'
import { unprocessable } from './validation.ts'

const DEFAULT_SPAN_MS = 30 * 24 * 60 * 60 * 1000

type Deps = Pick<Platform, 'analytics' | 'clock'> & { projectRoute: ProjectRouteFactory }

/** A project's figures over time. */
export const statsRoutes = ({ projectRoute, analytics, clock }: Deps): Route[] => [
  projectRoute(getStats, async ({ projectId, query }) => {
    const { metric, interval, groupBy, eventName, includeBots } = query
    const { from, to, buckets } = placeInTime(query, clock())
    const rows = await analytics.measure({
      ...{ projectId, metric, interval, groupBy, eventName, includeBots },
      from: new Date(from),
      to: new Date(to),
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
    throw unprocessable('groupBy', 'metric', `${metric} have no selector`)
  const to = query.to === undefined ? now : dateOfTime(query.to).getTime()
  const from = query.from === undefined ? to - DEFAULT_SPAN_MS : dateOfTime(query.from).getTime()
  if (from >= to) throw unprocessable('from', 'order', 'must be before `to`')
  const buckets = timeBuckets(interval, from, to, MAX_STATS_BUCKETS)
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
export const seriesOf = (rows: readonly MetricRow[], buckets: readonly number[]): StatsView['series'] => {
  const placeOf = new Map(buckets.map((at, place) => [at, place]))
  const found = new Map<string, StatsView['series'][number]>()
  for (const { at, group, other, currency, value } of rows) {
    const key = JSON.stringify([group, other, currency])
    const series = found.get(key) ?? { ...nothing(buckets.length), group, other, currency }
    found.set(key, series)
    const place = at && placeOf.get(at.getTime())
    if (at === null) series.total = value
    else if (place !== undefined && place !== null) series.values[place] = value
  }
  return [...found.values()].sort((a, b) => Number(a.other) - Number(b.other) || b.total - a.total)
}
