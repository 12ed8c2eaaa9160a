import type { TrendMetric, TrendQuery, TrendRow } from '../store.ts'
import { createConditions, needsTraits } from './condition-queries.ts'
import type { Database, Dialect } from './dialect.ts'
import { eventsFrom, labelledRows, PERSON } from './table-queries.ts'

type Metric = {
  /** The counted or summed value of an event or conversion; by default that of the number property. */
  value?: string
  /** Aggregates the values of a bucket. */
  aggregate(dialect: Dialect): string
  /** Ranks groups; by default by their number of rows. */
  rank?: string
  /** Whether the metric is additive, so that rows are summed before groups are ranked. */
  adds?: boolean
}

const countedOnce = () => 'count(DISTINCT value)'
// As floating point, because a sum of 64-bit integers wraps around in ClickHouse.
const added = (dialect: Dialect) => `sum(${dialect.asNumber('value')})`
const quantile = (share: number) => (dialect: Dialect) => dialect.quantile('value', share)

const METRICS: Record<TrendMetric, Metric> = {
  events: { value: '1', aggregate: added, rank: 'sum(value)', adds: true },
  people: { value: PERSON, aggregate: countedOnce },
  sessions: { value: 'e.session_id', aggregate: countedOnce },
  visitors: { value: 'coalesce(e.visitor_id, e.user_id)', aggregate: countedOnce },
  warnings: { value: 'nullif(e.warnings, 0)', aggregate: added, rank: 'sum(value)', adds: true },
  conversions: { value: '1', aggregate: added, rank: 'sum(value)', adds: true },
  revenue: { value: 'conversion.amount', aggregate: added, rank: 'sum(value)', adds: true },
  sum: { aggregate: added, rank: 'sum(value)', adds: true },
  avg: { aggregate: () => 'avg(value)' },
  min: { aggregate: () => 'min(value)' },
  max: { aggregate: () => 'max(value)' },
  p50: { aggregate: quantile(0.5) },
  p90: { aggregate: quantile(0.9) },
  p99: { aggregate: quantile(0.99) },
}

type Row = Omit<TrendRow, 'bucket'> & { bucket: bigint | number | null }

/** Runs a trend query as one statement. */
export const measureTrend = async (
  { dialect, query: run }: Database,
  query: TrendQuery,
): Promise<TrendRow[]> => {
  const { metric, property, breakdown, filters, maxGroups, groups } = query
  const parameters = dialect.parameters()
  const { allOf, numberOf, textOf } = createConditions(dialect, parameters)
  const { value, aggregate, rank = 'count(*)', adds = false } = METRICS[metric]
  if (value === undefined && property === undefined) throw new Error(`${metric} is of a property`)
  const label = () => {
    if (!breakdown) return dialect.nullText
    return breakdown.source === 'selector' ? dialect.asText('conversion.selector_id') : textOf(breakdown)
  }
  const bucket = dialect.bucketOf('e."time"', query.buckets, query.to)
  const from = eventsFrom(dialect, query, parameters, {
    conversions: metric === 'conversions' || metric === 'revenue',
    people: metric === 'people',
    traits: needsTraits([property, breakdown, ...filters.map((filter) => filter.property)]),
    bucket: bucket.join,
  })
  const text = `
    WITH ${[
      ...bucket.tables,
      `matched ${dialect.materialized} (
        SELECT * FROM (
          SELECT ${bucket.place} AS bucket, ${label()} AS label,
            ${metric === 'revenue' ? 'conversion.currency' : dialect.nullText} AS currency,
            ${value ?? (property && numberOf(property))} AS value
          ${from} AND ${allOf(filters)}
        ) AS valued WHERE value IS NOT NULL
      )`,
      ...(adds && breakdown && !groups
        ? rankedSums(dialect, 'matched', maxGroups)
        : labelledRows(dialect, 'matched', ['bucket', 'currency', 'value'], {
            ...{ grouped: breakdown !== undefined, rank, maxGroups },
            groups:
              breakdown &&
              groups?.map((group) => (group === null ? dialect.nullText : parameters.text(group))),
          })),
    ].join(', ')}
    SELECT bucket, label AS "group", other, currency, ${dialect.asNumber(aggregate(dialect))} AS value FROM labelled
    GROUP BY GROUPING SETS ((bucket, label, other, currency), (label, other, currency))`
  const rows = await run<Row>(query.projectId, text, parameters.bindings)
  return rows.map((row) => ({
    ...row,
    bucket: row.bucket === null ? null : Number(row.bucket),
    other: Boolean(row.other),
  }))
}

/**
 * Like `labelledRows` for additive values, but reads `from` once: the sums are few rows, which are ranked without a
 * join.
 */
const rankedSums = (dialect: Dialect, from: string, maxGroups: number): string[] => [
  `sums AS (
    SELECT bucket, label, currency, sum(${dialect.asNumber('value')}) AS value FROM ${from}
    GROUP BY bucket, label, currency
  )`,
  'weighed AS (SELECT *, sum(value) OVER (PARTITION BY label) AS weight FROM sums)',
  'ranked AS (SELECT *, dense_rank() OVER (ORDER BY weight DESC, label) AS place FROM weighed)',
  `labelled AS (
    SELECT bucket, currency, value, CASE WHEN place <= ${maxGroups} THEN label END AS label, place > ${maxGroups} AS other
    FROM ranked
  )`,
]
