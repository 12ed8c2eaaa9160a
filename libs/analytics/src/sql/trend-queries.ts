import type { TrendMetric, TrendQuery, TrendRow } from '../store.ts'
import { createConditions, needsTraits } from './condition-queries.ts'
import type { Database, Dialect } from './dialect.ts'
import { eventsFrom, labelledRows, mergesOf, PERSON } from './table-queries.ts'

type Metric = {
  /** The counted or summed value of an event or conversion; by default that of the number property. */
  value?: string
  /** Aggregates the values of a bucket. */
  aggregate(dialect: Dialect): string
  /** Whether the metric counts distinct values, so that one number per value can say in which buckets it is. */
  countsOnce?: boolean
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
  people: { value: PERSON, aggregate: countedOnce, countsOnce: true },
  sessions: { value: 'e.session_id', aggregate: countedOnce, countsOnce: true },
  visitors: { value: 'coalesce(e.visitor_id, e.user_id)', aggregate: countedOnce, countsOnce: true },
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

/** Buckets whose bits fit into one number, with one for the total. */
const MAX_BUCKET_BITS = 62

type Row = Omit<TrendRow, 'bucket'> & { bucket: bigint | number | null }

/** Runs a trend query as one statement. */
export const measureTrend = async (
  { dialect, query: run }: Database,
  query: TrendQuery,
): Promise<TrendRow[]> => {
  const { metric, property, breakdown, filters, maxGroups, groups } = query
  const parameters = dialect.parameters()
  const { allOf, numberOf, textOf } = createConditions(dialect, parameters)
  const { value, aggregate, countsOnce = false, rank = 'count(*)', adds = false } = METRICS[metric]
  if (value === undefined && property === undefined) throw new Error(`${metric} is of a property`)
  const label = () => {
    if (!breakdown) return dialect.nullText
    return breakdown.source === 'selector' ? dialect.asText('conversion.selector_id') : textOf(breakdown)
  }
  const bucket = dialect.bucketOf('e."time"', query.buckets, query.to)
  const usesBits = countsOnce && !breakdown && query.buckets.length <= MAX_BUCKET_BITS
  const from = eventsFrom(dialect, query, parameters, {
    conversions: metric === 'conversions' || metric === 'revenue',
    people: metric === 'people' && !usesBits,
    traits: needsTraits([property, breakdown, ...filters.map((filter) => filter.property)]),
    bucket: bucket.join,
  })
  const countedText = () => {
    const values = `
      SELECT ${bucket.place} AS bucket, ${metric === 'people' ? 'e.profile_id' : value} AS value
      ${from} AND ${allOf(filters)}`
    const merges = metric === 'people' ? mergesOf(dialect, query.projectId, parameters) : undefined
    return `WITH ${[...bucket.tables, ...countedBits(dialect, values, query.buckets.length, merges)].join(', ')}
      SELECT bucket, ${dialect.nullText} AS "group", false AS other, ${dialect.nullText} AS currency, value FROM counted`
  }
  const groupedText = () => `
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
  const rows = await run<Row>(query.projectId, usesBits ? countedText() : groupedText(), parameters.bindings)
  return rows.map((row) => ({
    ...row,
    bucket: row.bucket === null ? null : Number(row.bucket),
    other: Boolean(row.other),
  }))
}

/**
 * Common table expressions that end in `counted`: the number of distinct values by `bucket`, and in all with the bucket
 * NULL. A value is one row with a bit for each bucket, and the next bit for all, so that only few rows are joined with
 * the `merges` of people.
 */
const countedBits = (dialect: Dialect, values: string, buckets: number, merges?: string): string[] => [
  `seen AS (
    SELECT value, ${dialect.bitOr(dialect.bit('bucket'))} AS bits FROM (${values}) AS valued
    WHERE value IS NOT NULL GROUP BY value
  )`,
  merges === undefined
    ? 'merged AS (SELECT bits FROM seen)'
    : `merged AS (
        SELECT ${PERSON} AS person, ${dialect.bitOr('e.bits')} AS bits
        FROM (SELECT value AS profile_id, bits FROM seen) AS e ${merges} GROUP BY person
      )`,
  `counted AS (
    SELECT nullif(bit_index, ${buckets}) AS bucket, ${dialect.asNumber('count(*)')} AS value
    FROM merged ${dialect.unnestBits(`(merged.bits + ${dialect.bit(`${buckets}`)})`)} GROUP BY bit_index
  )`,
]

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
