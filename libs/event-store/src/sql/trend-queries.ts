import { createHash } from 'node:crypto'
import { QueryTimeoutError, type TrendMetric, type TrendQuery, type TrendRow } from '../store.ts'
import { createConditions, needsTraits } from './condition-queries.ts'
import type { Database, Dialect, Parameters } from './dialect.ts'
import { eventsFrom, labelledRows, mergesOf, PERSON } from './table-queries.ts'

type Metric = {
  /** The counted or summed value of an event or conversion; by default that of the number property. */
  value?: string | ((dialect: Dialect) => string)
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
// JSON has no infinity.
const finite = (value: string) => `greatest(least(${value}, ${Number.MAX_VALUE}), -${Number.MAX_VALUE})`
const quantile = (share: number) => (dialect: Dialect) => dialect.quantile('value', share)

/**
 * A person, or the visitor of an event without a profile. Not `coalesce`, for which ClickHouse would hash all visitors.
 */
const personOrVisitor = (dialect: Dialect, person: string): string =>
  `CASE WHEN e.profile_id IS NULL THEN ${dialect.hashedUuid('e.visitor_id')} ELSE ${person} END`

const METRICS: Record<TrendMetric, Metric> = {
  events: { value: '1', aggregate: added, rank: 'sum(value)', adds: true },
  people: { value: (dialect) => personOrVisitor(dialect, PERSON), aggregate: countedOnce, countsOnce: true },
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

/** Maximum rows of an answer. Revenue in many currencies can have more than one for each group and bucket. */
export const MAX_TREND_ROWS = 200_000

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
  const rowValue = (typeof value === 'function' ? value(dialect) : value) ?? (property && numberOf(property))
  if (rowValue === undefined) throw new Error(`${metric} is of a property`)
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
      SELECT ${bucket.index} AS bucket, ${metric === 'people' ? personOrVisitor(dialect, 'e.profile_id') : rowValue} AS value
      ${from} AND ${allOf(filters)}`
    const merges = metric === 'people' ? mergesOf(dialect, query.projectId, parameters) : undefined
    return `WITH ${[...bucket.tables, ...countedBits(dialect, values, query.buckets.length, merges)].join(', ')}
      SELECT bucket, ${dialect.nullText} AS "group", false AS other, ${dialect.nullText} AS currency, value FROM counted`
  }
  const columns = `${bucket.index} AS bucket, ${label()} AS label,
    ${metric === 'revenue' ? 'conversion.currency' : dialect.nullText} AS currency`
  const labelled = () =>
    adds && breakdown && !groups
      ? rankedSums(
          dialect,
          `SELECT ${columns}, sum(${dialect.asNumber(rowValue)}) AS value ${from} AND ${allOf(filters)}
            GROUP BY 1, 2, 3 HAVING value IS NOT NULL`,
          maxGroups,
        )
      : [
          `matched ${dialect.materialized} (
            SELECT ${columns}, ${rowValue} AS value ${from} AND ${allOf(filters)} AND value IS NOT NULL
          )`,
          ...labelledRows(dialect, 'matched', ['bucket', 'currency', 'value'], {
            grouped: breakdown !== undefined,
            rank,
            maxGroups,
            isGroup: breakdown && groups && isOneOf(groups, dialect, parameters),
          }),
        ]
  const groupedText = () => `
    WITH ${[...bucket.tables, ...labelled()].join(', ')}
    SELECT bucket, label AS "group", other, currency, ${finite(dialect.asNumber(aggregate(dialect)))} AS value FROM labelled
    GROUP BY GROUPING SETS ((bucket, label, other, currency), (label, other, currency)) LIMIT ${MAX_TREND_ROWS + 1}`
  const rows = await run<Row>(query.projectId, usesBits ? countedText() : groupedText(), parameters.bindings)
  if (rows.length > MAX_TREND_ROWS)
    throw new QueryTimeoutError(`The answer has more than ${MAX_TREND_ROWS} numbers`)
  return rows.map((row) => ({
    ...row,
    bucket: row.bucket === null ? null : Number(row.bucket),
    other: Boolean(row.other),
  }))
}

/** Whether a `label` is one of the groups: by hashes, because labels can be as long as an event. */
const isOneOf = (groups: readonly (string | null)[], dialect: Dialect, parameters: Parameters): string => {
  const hashes = groups
    .filter((group) => group !== null)
    .map((group) => parameters.text(createHash('md5').update(group).digest('hex')))
  return [
    '1 = 0',
    ...(groups.includes(null) ? ['label IS NULL'] : []),
    ...(hashes.length > 0 ? [`${dialect.md5('label')} IN (${hashes.join(', ')})`] : []),
  ].join(' OR ')
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
 * Like `labelledRows` for the `sums` of additive values by bucket, label and currency, which are few rows: these are
 * ranked without a join.
 */
const rankedSums = (dialect: Dialect, sums: string, maxGroups: number): string[] => [
  `sums ${dialect.materialized} (${sums})`,
  'weighed AS (SELECT *, sum(value) OVER (PARTITION BY label) AS weight FROM sums)',
  'ranked AS (SELECT *, dense_rank() OVER (ORDER BY weight DESC, label) AS group_rank FROM weighed)',
  `labelled AS (
    SELECT bucket, currency, value, CASE WHEN group_rank <= ${maxGroups} THEN label END AS label, group_rank > ${maxGroups} AS other
    FROM ranked
  )`,
]
