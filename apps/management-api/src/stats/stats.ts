import {
  getStats,
  MAX_STATS_BUCKETS,
  type StatsGroup,
  type StatsQuery,
  type StatsView,
} from '@waymark/contracts/http/stats'
import { dateOfTime } from '@waymark/contracts/rfc3339'
import { type Breakdown, zonedBuckets } from '@waymark/event-store'
import type { Route } from '@waymark/service-kit'
import { groupRows } from '../analytics/group-rows.ts'
import { timeText } from '../analytics/time-range.ts'
import { unprocessable } from '../http/validation.ts'
import type { ManagementDeps } from '../management-deps.ts'

const DEFAULT_SPAN_MS = 30 * 24 * 60 * 60 * 1000

/** Maximum number of groups. All others form one group. */
const MAX_GROUPS = 100

const BREAKDOWNS: Record<StatsGroup, Breakdown> = {
  name: { source: 'column', column: 'eventName' },
  link: { source: 'column', column: 'link' },
  campaign: { source: 'column', column: 'utmCampaign' },
  country: { source: 'column', column: 'country' },
  device: { source: 'column', column: 'device' },
  selector: { source: 'selector' },
}

/** A project's figures over time. */
export const statsRoutes = ({ projectRoute, runQuery, clock }: ManagementDeps): Route[] => [
  projectRoute(getStats, async ({ projectId, request, query }) => {
    const { metric, interval, groupBy, eventName, includeBots } = query
    const { from, to, buckets } = placeInTime(query, clock())
    const rows = await runQuery({ projectId, request, from, to }, (queryStore) =>
      queryStore((store) =>
        store.measureTrend({
          projectId,
          metric,
          eventName,
          includeBots,
          from,
          to,
          buckets,
          filters: [],
          breakdown: groupBy && BREAKDOWNS[groupBy],
          maxGroups: MAX_GROUPS,
        }),
      ),
    )
    const body: StatsView = {
      metric,
      interval,
      groupBy: groupBy ?? null,
      from: timeText(from),
      to: timeText(to),
      buckets: buckets.map(timeText),
      series: groupRows(rows, {
        buckets: buckets.length,
        fillEmpty: groupBy === undefined && metric !== 'revenue',
      }),
    }
    return { body }
  }),
]

/**
 * Reads the requested time.
 * @throws AppError unprocessable when it is none, or too long for its interval, or grouped by what events do not have
 */
const placeInTime = (
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
  if (from >= to) throw unprocessable('from', 'order', 'must be before to', timeText(from))
  const buckets = zonedBuckets(interval, 'UTC', from, to, MAX_STATS_BUCKETS)
  if (buckets) return { from, to, buckets }
  throw unprocessable('interval', 'max', `gives more than ${MAX_STATS_BUCKETS} buckets between from and to`)
}
