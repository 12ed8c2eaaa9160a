import type { StatsGroup, StatsInterval, StatsMetric } from '@waymark/contracts'
import type { Pool } from 'pg'
import { MAX_GROUPS, type MetricQuery, type MetricRow } from './port.ts'

const TABLES: Record<StatsMetric, string> = {
  events: 'analytics.events',
  visitors: 'analytics.events',
  warnings: 'analytics.events',
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

/** By what groups are compared. Of visitors by their events, since telling them apart twice would cost the most. */
const RANKS: Record<StatsMetric, string> = {
  events: 'count(*)',
  visitors: 'count(*)',
  warnings: 'sum(warnings)',
  conversions: 'count(*)',
  revenue: 'sum(amount)',
}

/** What is counted or added up. */
const WHAT: Record<StatsMetric, string> = {
  events: 'NULL',
  visitors: 'coalesce(visitor_id, user_id)',
  warnings: 'warnings',
  conversions: 'NULL',
  revenue: 'amount',
}

/** Which rows have something to add up; a metric that is not here counts rows. */
const ADDED: Partial<Record<StatsMetric, string>> = {
  warnings: 'warnings > 0',
  revenue: 'amount IS NOT NULL',
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
  const added = ADDED[metric]
  const matching = `
    FROM ${TABLES[metric]}
    WHERE project_id = $1 AND "timestamp" >= $2 AND "timestamp" < $3 AND ($4 OR NOT bot)
      ${eventName === undefined ? '' : 'AND event_name = $5'} ${added === undefined ? '' : `AND ${added}`}`
  const labelled = (label: string, other: string, from: string): string => `
    SELECT date_trunc('${UNITS[interval]}', "timestamp", 'UTC') AS at, ${label} AS label, ${other} AS other,
      ${metric === 'revenue' ? 'currency' : 'NULL::text'} AS currency, ${WHAT[metric]} AS what ${from}`
  const count = metric === 'visitors' ? countedOnce : addedUp(metric)
  if (groupBy === undefined) return count(labelled('NULL::text', 'false', matching))
  // A key that is never null can be looked up by its hash: '1' and the group, or '0'.
  const key = `CASE WHEN ${GROUPS[groupBy]} IS NULL THEN '0' ELSE '1' || ${GROUPS[groupBy]} END`
  const tops = `
    SELECT ${key} AS top ${matching} GROUP BY 1 ORDER BY ${RANKS[metric]} DESC, 1 LIMIT ${MAX_GROUPS}`
  const from = `FROM (SELECT *, ${key} AS key ${matching}) AS measured LEFT JOIN (${tops}) AS tops ON top = key`
  return count(labelled(`CASE WHEN top LIKE '1%' THEN substr(top, 2) END`, 'top IS NULL', from))
}

/** Rows by bucket, and for the whole time, of what adds up. */
const addedUp =
  (metric: StatsMetric) =>
  (labelled: string): string =>
    `
    SELECT at, label, other, currency, ${metric in ADDED ? 'sum(what)' : 'count(*)'}::text AS value
    FROM (${labelled}) AS labelled
    GROUP BY GROUPING SETS ((at, label, other, currency), (label, other, currency))`

/** The same of what is counted once in each bucket, and once in the whole time. */
const countedOnce = (labelled: string): string => `
  WITH seen AS MATERIALIZED (SELECT DISTINCT at, label, other, what FROM (${labelled}) AS labelled)
  SELECT at, label, other, NULL::text AS currency, count(what)::text AS value FROM seen GROUP BY at, label, other
  UNION ALL
  SELECT NULL, label, other, NULL, count(what)::text FROM (SELECT DISTINCT label, other, what FROM seen) AS once
  GROUP BY label, other`
