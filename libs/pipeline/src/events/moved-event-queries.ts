import type { EnrichedEvent } from '@waymark/contracts/records/enriched-event'
import type { ClientBase, Pool } from 'pg'

// The names of partitions end with their month.
const MONTHS = `
  SELECT to_date(right(relname, 7), 'YYYY_MM')::text AS month FROM pg_inherits JOIN pg_class ON pg_class.oid = inhrelid
  WHERE inhparent = 'ingest.events'::regclass ORDER BY month DESC`
const READ = `
  SELECT project_id AS "projectId", event_key AS "eventKey", event_id AS "eventId", event_name AS "eventName",
    visitor_id AS "visitorId", user_id AS "userId", session_id AS "sessionId", properties,
    client_timestamp AS "clientTimestamp", received_at AS "receivedAt", "timestamp", profile_id AS "profileId",
    short_link_id AS "shortLinkId", short_link_code AS "shortLinkCode", click_ids AS "clickIds", warnings, context, (
    SELECT coalesce(jsonb_agg(jsonb_build_object(
      'selectorId', c.selector_id, 'amount', c.amount, 'currency', c.currency, 'quantity', c.quantity
    )), '[]') FROM ingest.conversions c WHERE c.project_id = e.project_id AND c.event_key = e.event_key
  ) AS conversions
  FROM ingest.events e
  WHERE received_at >= $1::date::timestamp AT TIME ZONE 'UTC'
    AND received_at < ($1::date::timestamp + interval '1 month') AT TIME ZONE 'UTC'
    AND ($2::uuid IS NULL OR (project_id, received_at, event_key) > ($2, $3, $4))
  ORDER BY project_id, received_at, event_key LIMIT $5`

type Row = Omit<EnrichedEvent, 'v' | 'backfill' | 'receivedAt' | 'timestamp'> & {
  eventKey: string
  receivedAt: Date
  timestamp: Date
}

/** The months whose events an earlier version has stored in the primary database, the latest first: `2026-11-01`. */
export const findMonths = async (pool: Pool): Promise<string[]> =>
  (await pool.query<{ month: string }>(MONTHS)).rows.map(({ month }) => month)

/** The events of a month that an earlier version has stored in the primary database, `portion` at a time. */
export async function* readMonth(
  pool: Pool,
  month: string,
  portion: number,
): AsyncGenerator<EnrichedEvent[]> {
  for (let last: Row | undefined; ; ) {
    const { rows }: { rows: Row[] } = await pool.query<Row>({
      name: 'read-month',
      text: READ,
      values: [month, last?.projectId, last?.receivedAt, last?.eventKey, portion],
    })
    if (rows.length > 0) yield rows.map(eventOf)
    last = rows.at(-1)
    if (!last || rows.length < portion) return
  }
}

const eventOf = ({ eventKey: _, receivedAt, timestamp, ...row }: Row): EnrichedEvent => ({
  v: 1,
  ...row,
  receivedAt: receivedAt.toISOString(),
  timestamp: timestamp.toISOString(),
  // Not stored, and of no use to a store.
  backfill: false,
})

/** Takes the lock of the process that moves events until the transaction ends. False when another process has it. */
export const lockMove = async (client: ClientBase): Promise<boolean> => {
  const { rows } = await client.query<{ locked: boolean }>(
    "SELECT pg_try_advisory_xact_lock(hashtextextended('move-events', 0)) AS locked",
  )
  return rows[0]?.locked === true
}

/** How often processes of an earlier version have stored events. Waits for those that are storing some. */
export const countEventWrites = async (pool: Pool): Promise<string> => {
  const { rows } = await pool.query<{ writes: string }>('SELECT ingest.event_writes() AS writes')
  return rows[0]?.writes ?? ''
}

/** Removes the events of a month. False when events were stored since `countEventWrites` returned `writes`. */
export const removeMonth = async (pool: Pool, month: string, writes: string): Promise<boolean> => {
  const { rows } = await pool.query<{ removed: boolean }>(
    'SELECT ingest.remove_moved_month($1, $2) AS removed',
    [month, writes],
  )
  return rows[0]?.removed === true
}
