import type { DecisionMetric } from '@waymark/contracts/decision-definition'
import { parsePropertyName } from '@waymark/domain/analytics'
import type { Sample } from '@waymark/domain/experiment'
import type { EventQueries } from '@waymark/event-store'
import type { Pool, PoolClient } from 'pg'

/** How long the queries of one answer may take together, in ms. */
export const EXPERIMENT_TIMEOUT_MS = 25_000
/** Days before the exposure of which the past of people is read. */
export const PAST_DAYS = 14
/** Larger values are left out, so that their squares stay exact enough to add. */
const MAX_VALUE = 1e15
/** Smaller values count as 0, because PostgreSQL refuses squares that are too small for a number. */
const MIN_VALUE = 1e-15
/** How many earlier times the history has. */
const HISTORY_TIMES = 14

/** People whose first exposure has the same variant, rule and version. */
export type ExposedPeople = { variant: string; ruleId: string | null; version: number; people: number }
export type MetricSamples = {
  samples: Map<string, Sample>
  /** The currencies of amounts, with null for amounts without one; empty for other values. */
  currencies: (string | null)[]
  /** The samples as they were at earlier times. */
  history: { at: Date; samples: Map<string, Sample> }[]
}
/** What is stored about an experiment. */
export type StoredExperiment = {
  exposed: ExposedPeople[]
  /** People who had another variant after their first one. */
  switched: number
  /** The rules of each version that people were exposed by, as stored. */
  rules: Map<number, unknown>
  /** In the order of the metrics. */
  metrics: MetricSamples[]
}

// A person is a profile with those merged into it, and counts by the first exposure that a split decided.
const PEOPLE = `
  exposed AS (
    SELECT coalesce(p.merged_into, e.profile_id) AS person, e.variant, e.rule_id, e.version, e.exposed_at
    FROM decision.exposures e LEFT JOIN ingest.profiles p ON p.id = e.profile_id
    WHERE e.decision_id = $1 AND e.reason = 'SPLIT'
  ), people AS (
    SELECT DISTINCT ON (person) person, variant, rule_id, version, exposed_at AS since
    FROM exposed ORDER BY person, exposed_at, variant
  )`

const COUNT_PEOPLE = `
  WITH ${PEOPLE}
  SELECT variant, rule_id AS "ruleId", version, count(*)::int AS people, min(since) AS since,
    (SELECT count(*) FROM (SELECT FROM exposed GROUP BY person HAVING count(DISTINCT variant) > 1) AS several)::int AS switched
  FROM people GROUP BY variant, rule_id, version`

const RULES = `
  SELECT version, coalesce(definition -> 'environments' -> $3::text -> 'rules', definition -> 'rules') AS rules
  FROM decision.decision_versions
  WHERE decision_id = $1 AND version = ANY($2::int[])`

// Nothing is stored as more than a day ahead of its receipt, so the time of receipt bounds what is read. Net amounts are
// those of conversions less the discounts of coupons that were not rolled back.
export const CONVERSIONS = `
  SELECT coalesce(p.merged_into, c.profile_id) AS person, c.occurred_at AS at, c.currency,
    (CASE WHEN $3 IN ('amount', 'net') THEN c.amount WHEN $3 = 'quantity' THEN c.quantity ELSE 1 END)::numeric AS value
  FROM ingest.conversions c LEFT JOIN ingest.profiles p ON p.id = c.profile_id
  WHERE c.project_id = $4 AND c.selector_id = $5::uuid AND c.received_at >= $6
  UNION ALL
  SELECT coalesce(p.merged_into, r.profile_id), r.redeemed_at, r.currency, (r.rolled_back_amount - r.discount_amount)::numeric
  FROM coupon.redemptions r LEFT JOIN ingest.profiles p ON p.id = r.profile_id
  WHERE $3 = 'net' AND r.project_id = $4 AND r.redeemed_at >= $6 AND r.rolled_back_at IS NULL AND r.discount_amount > 0`
// Events are in the event store. Their values are copied, so that they are joined with exposures.
const CREATE_VALUES = `
  CREATE TEMPORARY TABLE event_values (profile_id uuid, at timestamptz, value float8) ON COMMIT DROP`
const CLEAR_VALUES = 'TRUNCATE pg_temp.event_values'
const ADD_VALUES = `
  INSERT INTO pg_temp.event_values SELECT * FROM unnest($1::uuid[], $2::timestamptz[], $3::float8[])`
const VALUES_PER_READ = 10_000
export const EVENTS = `
  SELECT coalesce(p.merged_into, e.profile_id) AS person, e.at, NULL::text AS currency, e.value::numeric AS value
  FROM pg_temp.event_values e LEFT JOIN ingest.profiles p ON p.id = e.profile_id`

/** A value `h.value` that can be squared and added. */
export const USABLE_VALUE = `
  CASE WHEN abs(h.value) < ${MIN_VALUE} THEN 0 WHEN abs(h.value) <= ${MAX_VALUE} THEN h.value END::float8`

/** The value `y` of each person from the exposure to a time, and `x` from before the exposure. */
export const VALUES: Record<DecisionMetric['kind'], string> = {
  count:
    '(count(value) FILTER (WHERE after AND at < time) > 0)::int AS y, (count(value) FILTER (WHERE NOT after) > 0)::int AS x',
  sum: 'coalesce(sum(value) FILTER (WHERE after AND at < time), 0) AS y, coalesce(sum(value) FILTER (WHERE NOT after), 0) AS x',
  // Who has no value is left out, so there is no past to adjust by.
  mean: 'avg(value) FILTER (WHERE after AND at < time) AS y, 0 AS x',
}

const sumByVariant = (happened: string, kind: DecisionMetric['kind']): string => `
  WITH ${PEOPLE}, happened AS (${happened}), observed AS (
    SELECT people.person, people.variant, people.since, h.at, h.at >= people.since AS after, h.currency,
      ${USABLE_VALUE} AS value
    FROM people LEFT JOIN happened h
      ON h.person = people.person AND h.at >= people.since - interval '${PAST_DAYS} days'
  ), persons AS (
    SELECT place, variant, ${VALUES[kind]}
    FROM observed JOIN unnest($2::timestamptz[]) WITH ORDINALITY AS times (time, place) ON since < time
    GROUP BY place, person, variant
  )
  SELECT place::int, variant, count(y)::int AS people, coalesce(sum(y), 0)::float8 AS sum,
    coalesce(sum(y::float8 ^ 2), 0) AS "sumOfSquares", coalesce(sum(x), 0)::float8 AS past,
    coalesce(sum(x::float8 ^ 2), 0) AS "pastSquares", coalesce(sum(x::float8 * y::float8), 0) AS products,
    (SELECT array_agg(DISTINCT currency ORDER BY currency) FROM observed WHERE after AND value IS NOT NULL) AS currencies
  FROM persons GROUP BY place, variant`

type SumsRow = {
  /** Of the time, from 1. */
  place: number
  variant: string
  people: number
  sum: number
  sumOfSquares: number
  past: number
  pastSquares: number
  products: number
  currencies: (string | null)[] | null
}

type ExperimentQuery = {
  decisionId: string
  /** The id of its exposures in the environment, as `countingIdOf` names it. */
  countingId: string
  environment: string
  projectId: string
  metrics: readonly DecisionMetric[]
  /** Now, in ms since the epoch, to read what was known at 14 earlier times as well; null for none. */
  historyUntil: number | null
}

export type Stores = {
  pool: Pool
  /** Its queries end in time. */
  events: Pick<EventQueries, 'readValues'>
}

/**
 * Reads who was exposed to the variants of a decision, and sums what they did, from one snapshot of the database. Rejects with
 * a timeout of the database when it takes longer than 25 s.
 */
export const readExperiment = (stores: Stores, about: ExperimentQuery): Promise<StoredExperiment> =>
  measureInSnapshot(stores, EXPERIMENT_TIMEOUT_MS, (measuring) => readAll(measuring, about))

/** Reads from one snapshot of the database. */
export type Measuring = {
  query: <R extends object>(text: string, values: unknown[]) => Promise<R[]>
  /** Copies the values of an event that was received since then for `EVENTS`, in place of those of the event before. */
  copyValues: (about: {
    projectId: string
    eventName: string
    property: string | null
    received: Date
  }) => Promise<void>
}

/** Runs what reads exposures and values in one snapshot. Rejects with a timeout of the database after `timeoutMs`. */
export const measureInSnapshot = async <T>(
  { pool, events }: Stores,
  timeoutMs: number,
  run: (measuring: Measuring) => Promise<T>,
): Promise<T> => {
  const until = performance.now() + timeoutMs
  const client = await pool.connect()
  try {
    await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ')
    const result = await run(measuringOn(client, events, until))
    await client.query('COMMIT')
    client.release()
    return result
  } catch (error) {
    // The connection is closed, which ends its transaction.
    client.release(true)
    throw error
  }
}

const measuringOn = (client: PoolClient, events: Stores['events'], until: number): Measuring => {
  let isCreated = false
  const query: Measuring['query'] = async <R extends object>(text: string, values: unknown[]) => {
    const left = Math.max(1, Math.ceil(until - performance.now()))
    await client.query("SELECT set_config('statement_timeout', $1, true)", [`${left}`])
    return (await client.query<R>(text, values)).rows
  }
  return {
    query,
    copyValues: async ({ projectId, eventName, property, received }) => {
      const ref = property === null ? undefined : parsePropertyName(property)
      const portion = () => VALUES_PER_READ
      await query(isCreated ? CLEAR_VALUES : CREATE_VALUES, [])
      isCreated = true
      for await (const rows of events.readValues({
        projectId,
        eventName,
        receivedFrom: received.getTime(),
        property: ref?.source === 'properties' ? ref : undefined,
        portion,
      }))
        await query(ADD_VALUES, [
          rows.map(({ profileId }) => profileId),
          rows.map(({ at }) => new Date(at)),
          rows.map(({ value }) => value),
        ])
    },
  }
}

const readAll = async (
  { query, copyValues }: Measuring,
  { decisionId, countingId, environment, projectId, metrics, historyUntil }: ExperimentQuery,
): Promise<StoredExperiment> => {
  const counted = await query<ExposedPeople & { since: Date; switched: number }>(COUNT_PEOPLE, [countingId])
  const versions = [...new Set(counted.map(({ version }) => version))]
  const rules = await query<{ version: number; rules: unknown }>(RULES, [decisionId, versions, environment])
  const start = Math.min(...counted.map(({ since }) => since.getTime()))
  const received = new Date(Number.isFinite(start) ? start - (PAST_DAYS + 1) * 24 * 60 * 60 * 1_000 : 0)
  const times =
    historyUntil === null || !Number.isFinite(start)
      ? []
      : Array.from(
          { length: HISTORY_TIMES },
          (_, index) => new Date(start + ((historyUntil - start) * (index + 1)) / HISTORY_TIMES),
        )
  const samples: MetricSamples[] = []
  for (const metric of metrics) {
    const { eventName, selectorId, property, kind } = metric
    const value = kind === 'count' ? 'one' : (property ?? 'amount')
    const ofConversions = [value, projectId, selectorId, received]
    if (eventName !== null && counted.length > 0)
      await copyValues({ projectId, eventName, property: kind === 'count' ? null : property, received })
    const rows =
      counted.length === 0
        ? []
        : await query<SumsRow>(sumByVariant(eventName === null ? CONVERSIONS : EVENTS, kind), [
            countingId,
            [...times, 'infinity'],
            ...(eventName === null ? ofConversions : []),
          ])
    const samplesAt = (index: number) =>
      new Map(
        rows.filter(({ place }) => place === index + 1).map((row) => [row.variant, sampleOf(row, metric)]),
      )
    samples.push({
      samples: samplesAt(times.length),
      history: times.map((at, index) => ({ at, samples: samplesAt(index) })),
      currencies:
        eventName === null && (value === 'amount' || value === 'net') ? (rows[0]?.currencies ?? []) : [],
    })
  }
  return {
    exposed: counted.map(({ variant, ruleId, version, people }) => ({ variant, ruleId, version, people })),
    switched: counted[0]?.switched ?? 0,
    rules: new Map(rules.map((row) => [row.version, row.rules])),
    metrics: samples,
  }
}

const sampleOf = (
  { people, sum, sumOfSquares, past, pastSquares, products }: SumsRow,
  { kind }: DecisionMetric,
): Sample => ({
  people,
  sum,
  sumOfSquares,
  past: kind === 'mean' ? null : { sum: past, sumOfSquares: pastSquares, sumOfProducts: products },
})
