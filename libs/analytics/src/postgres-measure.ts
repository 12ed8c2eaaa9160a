import type { StatsGroup, StatsInterval, StatsMetric } from '@waymark/contracts'
import type { Pool } from 'pg'
import { MAX_GROUPS, type MetricQuery, type MetricRow } from './port.ts'

const TABLES: Record<StatsMetric, string> = {
  events: 'analytics.events',
  visitors: 'analytics.events',
  conversions: 'analytics.conversions',
  revenue: 'analytics.conversions',
}

const GROUPS: Record<StatsGroup, string> = {
  name: 'event_name',
  link: 'short_link_id',
  campaign: 'utm_campaign',
  country: 'country',
  device: 'device',
  selector: 'selector_id::text',
}

/** What is added up, and by which groups are compared; a visitor counts once in each bucket. */
const VALUES: Record<StatsMetric, string> = {
  events: 'count(*)',
  visitors: 'count(DISTINCT coalesce(visitor_id, user_id))',
  conversions: 'count(*)',
  revenue: 'sum(amount)',
}

const UNITS: Record<StatsInterval, string> = { hour: 'hour', day: 'day', week: 'week', month: 'month' }

type Row = { at: Date | null; label: string | null; other: boolean; currency: string | null; value: string }

/**
 * Measures by the index on (project, time), or on (project, name, time): what it costs goes with the number of events in
 * the time that is asked for, and not with how many there are. With groups that time is read twice, first for the greatest.
 */
export const measure = async (pool: Pool, query: MetricQuery): Promise<MetricRow[]> => {
  const { rows } = await pool.query<Row>(statementFor(query), [
    query.projectId,
    query.from,
    query.to,
    query.includeBots,
    ...(query.eventName === undefined ? [] : [query.eventName]),
  ])
  return rows.map(({ at, label, other, currency, value }) => ({
    at,
    group: label,
    other,
    currency,
    value: Number(value),
  }))
}

// Everything put together here is from the tables above; what comes from the request are parameters.
const statementFor = ({ metric, interval, groupBy, eventName }: MetricQuery): string => {
  const value = VALUES[metric]
  const currency = metric === 'revenue' ? 'currency' : 'NULL::text'
  const matching = `
    FROM ${TABLES[metric]}
    WHERE project_id = $1 AND "timestamp" >= $2 AND "timestamp" < $3 AND ($4 OR NOT bot)
      ${eventName === undefined ? '' : 'AND event_name = $5'} ${metric === 'revenue' ? 'AND amount IS NOT NULL' : ''}`
  const bucketed = (label: string, other: string, from: string): string => `
    SELECT at, label, other, currency, ${value}::text AS value FROM (
      SELECT date_trunc('${UNITS[interval]}', "timestamp", 'UTC') AS at, ${label} AS label, ${other} AS other,
        ${currency} AS currency, visitor_id, user_id ${metric === 'revenue' ? ', amount' : ''} ${from}
    ) AS labelled
    GROUP BY GROUPING SETS ((at, label, other, currency), (label, other, currency))`
  if (groupBy === undefined) return bucketed('NULL::text', 'false', matching)
  const group = GROUPS[groupBy]
  return `
    WITH tops AS MATERIALIZED (
      SELECT ${group} AS top, true AS is_top ${matching} GROUP BY 1 ORDER BY ${value} DESC, 1 LIMIT ${MAX_GROUPS}
    )
    ${bucketed(
      'top',
      'is_top IS NULL',
      `FROM (SELECT * ${matching}) AS measured LEFT JOIN tops ON top IS NOT DISTINCT FROM ${group}`,
    )}`
}
