import { bulkColumns } from '@waymark/database'
import type { EventKey } from '@waymark/event-store'
import type { Pool } from 'pg'

/** An acknowledged event that is to be checked. Times in ms. */
export type Sample = EventKey & {
  receivedAt: number
  /** By the client's clock. */
  occurredAt: number
  /** The number of its conversions. */
  conversions: number
}

const time = (ms: number): string => new Date(ms).toISOString()

const columns = bulkColumns<Sample>([
  { name: 'project_id', type: 'uuid', of: ({ projectId }) => projectId },
  { name: 'event_key', type: 'uuid', of: ({ eventKey }) => eventKey },
  { name: 'received_at', type: 'timestamptz', of: ({ receivedAt }) => time(receivedAt) },
  { name: 'occurred_at', type: 'timestamptz', of: ({ occurredAt }) => time(occurredAt) },
  { name: 'conversions', type: 'smallint', of: ({ conversions }) => conversions },
])

// In key order, so that gateways that sample the same events do not deadlock.
const ADD = `
  INSERT INTO ingest.delivery_samples (${columns.names}, next_check_at)
  SELECT ${columns.names}, received_at FROM ${columns.unnest} AS given (${columns.names})
  ORDER BY project_id, event_key ON CONFLICT DO NOTHING`

/** Adds samples. Of a repeat, the first counts. */
export const addSamples = async (pool: Pool, samples: readonly Sample[]): Promise<void> => {
  if (samples.length === 0) return
  await pool.query({ name: 'add-delivery-samples', text: ADD, values: columns.values(samples) })
}

// The pause doubles with the age, up to a minute.
const TAKE = `
  UPDATE ingest.delivery_samples AS taken
  SET next_check_at = $1::timestamptz + greatest(interval '1 second', least(interval '1 minute', $1 - taken.received_at))
  FROM (
    SELECT project_id, event_key FROM ingest.delivery_samples WHERE next_check_at <= $1
    ORDER BY next_check_at LIMIT $2 FOR UPDATE SKIP LOCKED
  ) AS due
  WHERE taken.project_id = due.project_id AND taken.event_key = due.event_key
  RETURNING taken.project_id AS "projectId", taken.event_key AS "eventKey", taken.conversions,
    (extract(epoch FROM taken.received_at) * 1000)::float8 AS "receivedAt",
    (extract(epoch FROM taken.occurred_at) * 1000)::float8 AS "occurredAt"`

/** The samples that are due for a check at a time (ms), which no other process then takes soon. */
export const takeSamples = async (pool: Pool, now: number, limit: number): Promise<Sample[]> =>
  (await pool.query<Sample>({ name: 'take-delivery-samples', text: TAKE, values: [time(now), limit] })).rows

// Conversions of a repeat of an id do not count, so that only those of the event that has the claim are expected.
const LACK_CONVERSIONS = `
  SELECT given.event_key AS "eventKey", given.project_id AS "projectId"
  FROM ${columns.unnest} AS given (${columns.names})
  JOIN ingest.event_ids AS claim USING (project_id, event_key)
  WHERE claim.received_at = given.received_at AND given.conversions > (
    SELECT count(*) FROM ingest.conversions AS stored
    WHERE stored.project_id = given.project_id AND stored.event_key = given.event_key
  )`

/** Those whose id is claimed by them while conversions of theirs are not stored. */
export const findWithoutConversions = async (pool: Pool, samples: readonly Sample[]): Promise<EventKey[]> => {
  const expecting = samples.filter(({ conversions }) => conversions > 0)
  if (expecting.length === 0) return []
  return (await pool.query<EventKey>(LACK_CONVERSIONS, columns.values(expecting))).rows
}

/** How far the clocks of processes may differ. */
const SKEW = `interval '1 minute'`
const EXCUSED = `
  SELECT given.event_key AS "eventKey", given.project_id AS "projectId"
  FROM ${columns.unnest} AS given (${columns.names}) LEFT JOIN core.projects ON projects.id = given.project_id
  WHERE projects.id IS NULL
    OR given.occurred_at < now() - make_interval(days => (projects.settings->>'retentionDays')::int - 1)
    OR EXISTS (SELECT FROM ingest.erasures WHERE erasures.project_id = given.project_id
      AND erased_at >= given.received_at - ${SKEW})
    OR EXISTS (SELECT FROM ingest.dead_letters WHERE dead_letters.project_id = given.project_id
      AND failed_at >= given.received_at - ${SKEW})`

/**
 * Those that may rightly be in no store: their project was deleted, keeps only younger events, or had an erasure or a dead
 * letter since their receipt.
 */
export const findExcused = async (pool: Pool, samples: readonly Sample[]): Promise<EventKey[]> => {
  if (samples.length === 0) return []
  return (await pool.query<EventKey>(EXCUSED, columns.values(samples))).rows
}

/** What became of a sample. */
export const deliveryOutcomes = ['stored', 'missing', 'duplicated', 'excused'] as const
export type DeliveryOutcome = (typeof deliveryOutcomes)[number]
/** The outcome of a check. `seconds` is how long a stored event took, else 0. */
export type SettledSample = EventKey & { outcome: DeliveryOutcome; seconds: number }

const settledColumns = bulkColumns<SettledSample>([
  { name: 'project_id', type: 'uuid', of: ({ projectId }) => projectId },
  { name: 'event_key', type: 'uuid', of: ({ eventKey }) => eventKey },
  { name: 'outcome', type: 'text', of: ({ outcome }) => outcome },
  { name: 'seconds', type: 'int', of: ({ seconds }) => seconds },
])

/** How long the numbers of an hour are kept, in days. */
const KEPT_DAYS = 31
// Another process may have settled one in the meantime.
const SETTLE = `
  WITH settled AS (
    DELETE FROM ingest.delivery_samples AS sample USING ${settledColumns.unnest} AS given (${settledColumns.names})
    WHERE sample.project_id = given.project_id AND sample.event_key = given.event_key
    RETURNING sample.project_id, given.outcome, given.seconds
  ), counted AS (
    SELECT project_id, outcome, seconds, count(*) AS n FROM settled GROUP BY project_id, outcome, seconds
  ), added AS (
    INSERT INTO ingest.delivery_checks AS known (project_id, hour, outcome, seconds, n)
    SELECT project_id, date_trunc('hour', $5::timestamptz), outcome, seconds, n FROM counted
    ORDER BY project_id, outcome, seconds
    ON CONFLICT (project_id, hour, outcome, seconds) DO UPDATE SET n = known.n + excluded.n
  ), forgotten AS (
    DELETE FROM ingest.delivery_checks
    WHERE project_id IN (SELECT project_id FROM counted) AND hour < $5::timestamptz - interval '${KEPT_DAYS} days'
  )
  SELECT outcome, seconds, sum(n)::int AS n FROM counted GROUP BY outcome, seconds`

/** The number of samples with an outcome. */
export type OutcomeCount = Pick<SettledSample, 'outcome' | 'seconds'> & { n: number }

/** Records the outcomes of samples and removes them, each once. @returns how many had each outcome */
export const settleSamples = async (
  pool: Pool,
  settled: readonly SettledSample[],
  now: number,
): Promise<OutcomeCount[]> => {
  if (settled.length === 0) return []
  const values = [...settledColumns.values(settled), time(now)]
  return (await pool.query<OutcomeCount>({ name: 'settle-delivery-samples', text: SETTLE, values })).rows
}

const COUNTS = `
  SELECT to_char(hour AT TIME ZONE 'UTC', 'YYYY-MM-DD') AS date, hour >= $2 AS "isRecent", outcome, seconds,
    sum(n)::int AS n
  FROM ingest.delivery_checks WHERE project_id = $1 AND hour >= $3 GROUP BY 1, 2, 3, 4`
const WAITING = `
  SELECT count(*)::int AS waiting, (extract(epoch FROM min(received_at)) * 1000)::float8 AS "oldestAt"
  FROM (SELECT received_at FROM ingest.delivery_samples WHERE project_id = $1 LIMIT $2) AS samples`

/** The number of samples of a project with an outcome on a day (UTC), and whether they are of the hours since a time. */
export type DayCount = OutcomeCount & { date: string; isRecent: boolean }

/**
 * The outcomes of a project since the beginning of `from`, both in ms, those since `recentFrom` apart; and at most `limit`
 * of those that were not checked yet, with the receipt of the oldest.
 */
export const readDeliveries = async (
  pool: Pool,
  projectId: string,
  { from, recentFrom, limit }: { from: number; recentFrom: number; limit: number },
): Promise<{ counts: DayCount[]; waiting: number; oldestAt: number | null }> => {
  const [counts, waiting] = await Promise.all([
    pool.query<DayCount>(COUNTS, [projectId, time(recentFrom), time(from)]),
    pool.query<{ waiting: number; oldestAt: number | null }>(WAITING, [projectId, limit]),
  ])
  return { counts: counts.rows, ...(waiting.rows[0] ?? { waiting: 0, oldestAt: null }) }
}
