import type { Topic } from '@waymark/contracts/topics'
import { bulkColumns, type Database, type Prisma } from '@waymark/database'
import { type OutgoingRecord, type SerializedRecord, serializeRecords } from '@waymark/event-bus'
import type { ClientBase, Pool, QueryConfig } from 'pg'
import { traceHeaders } from './trace-headers.ts'

type OutboxRow = { lane: string; topic: string; key: string; value: string; headers: string | null }
/** A record in the outbox. */
export type StoredRow = {
  id: string
  topic: string
  key: string
  value: string
  headers: Record<string, string> | null
}

const columns = bulkColumns<OutboxRow>([
  { name: 'lane', type: 'text', of: (row) => row.lane },
  { name: 'topic', type: 'text', of: (row) => row.topic },
  { name: 'key', type: 'text', of: (row) => row.key },
  { name: 'value', type: 'text', of: (row) => row.value },
  { name: 'headers', type: 'jsonb', of: (row) => row.headers },
])

const INSERT = `INSERT INTO ingest.outbox (${columns.names}) SELECT * FROM ${columns.unnest}`
// A loose index scan: DISTINCT would read every row.
const LANES = `
  WITH RECURSIVE lanes AS (
    SELECT min(lane) AS lane FROM ingest.outbox
    UNION ALL
    SELECT (SELECT min(lane) FROM ingest.outbox WHERE lane > lanes.lane) FROM lanes WHERE lanes.lane IS NOT NULL
  )
  SELECT lane FROM lanes WHERE lane IS NOT NULL`
const LOCK_LANE = `SELECT pg_try_advisory_xact_lock(hashtextextended('outbox:' || $1, 0)) AS locked`
const DELETE = 'DELETE FROM ingest.outbox WHERE id = ANY($1::bigint[])'
const OLDEST = `SELECT id, topic, key, value, headers FROM ingest.outbox WHERE lane = $1 ORDER BY id LIMIT $2`

/** Records of one topic for the outbox. */
type OutboxEntry = { topic: Topic<unknown>; records: readonly OutgoingRecord<unknown>[] }

/** Adds records in the transaction of `client`. The relay publishes them after the commit, in order per lane and topic. */
export const addToOutbox = async <T>(
  client: ClientBase,
  lane: string,
  topic: Topic<T>,
  records: readonly OutgoingRecord<T>[],
): Promise<void> => {
  await client.query(outboxStatement(lane, [{ topic, records }]))
}

/** `addToOutbox` in a transaction of Prisma. */
export const addToOutboxByPrisma = async <T>(
  tx: Pick<Prisma.TransactionClient, 'outboxRecord'>,
  lane: string,
  topic: Topic<T>,
  records: readonly OutgoingRecord<T>[],
): Promise<void> => {
  const trace = traceHeaders()
  await tx.outboxRecord.createMany({
    data: serializeRecords(records).map(({ key, value, headers = trace }) => ({
      lane,
      topic: topic.name,
      key,
      value,
      ...(headers && { headers }),
    })),
  })
}

/** The statement of `addToOutbox`, for records of several topics. */
export const outboxStatement = (lane: string, entries: readonly OutboxEntry[]): QueryConfig =>
  insertion(
    lane,
    entries.map(({ topic, records }) => ({ topic, records: serializeRecords(records) })),
  )

/** Like `addToOutbox`, for values that are serialized already. */
export const addSerializedToOutbox = async (
  client: ClientBase,
  lane: string,
  topic: Topic<unknown>,
  records: readonly SerializedRecord[],
): Promise<void> => {
  await client.query(insertion(lane, [{ topic, records }]))
}

const insertion = (
  lane: string,
  entries: readonly { topic: Topic<unknown>; records: readonly SerializedRecord[] }[],
): QueryConfig => {
  const trace = traceHeaders()
  const rows = entries.flatMap(({ topic, records }) =>
    records.map(({ key, value, headers = trace }) => ({
      lane,
      topic: topic.name,
      key,
      value,
      headers: headers ? JSON.stringify(headers) : null,
    })),
  )
  return { name: 'add-to-outbox', text: INSERT, values: columns.values(rows) }
}

/** The lanes that have records. */
export const findLanes = async (pool: Pool): Promise<string[]> => {
  const { rows } = await pool.query<{ lane: string }>(LANES)
  return rows.map(({ lane }) => lane)
}

/**
 * Locks a lane until the end of the transaction and reads its oldest records. Returns none when another transaction has
 * the lock.
 */
export const lockOldest = async (client: ClientBase, lane: string, limit: number): Promise<StoredRow[]> => {
  const lock = await client.query<{ locked: boolean }>(LOCK_LANE, [lane])
  if (!lock.rows[0]?.locked) return []
  const { rows } = await client.query<StoredRow>(OLDEST, [lane, limit])
  return rows
}

/** Deletes records that are published. */
export const deleteFromOutbox = async (client: ClientBase, rows: readonly StoredRow[]): Promise<void> => {
  await client.query(DELETE, [rows.map(({ id }) => id)])
}

const LANE_STATE = `
  SELECT max(id)::text AS newest, coalesce(max(id) - min(id) + 1, 0)::text AS spooled,
    coalesce((SELECT extract(epoch FROM clock_timestamp() - created_at) * 1000 FROM ingest.outbox
      WHERE lane = $1 ORDER BY id LIMIT 1), 0)::float8 AS waited_ms
  FROM ingest.outbox WHERE lane = $1`
const ANY_UP_TO = 'SELECT FROM ingest.outbox WHERE lane = $1 AND id <= $2 LIMIT 1'

/** The newest id of a lane, its approximate number of records, and the ms that the oldest record has waited. */
export type LaneState = { newest: string | null; records: number; waitedMs: number }

export const readLane = async (pool: Pool, lane: string): Promise<LaneState> => {
  const { rows } = await pool.query<{ newest: string | null; spooled: string; waited_ms: number }>(
    LANE_STATE,
    [lane],
  )
  const [row] = rows
  if (!row) return { newest: null, records: 0, waitedMs: 0 }
  return { newest: row.newest, records: Number(row.spooled), waitedMs: row.waited_ms }
}

/** Whether a lane still has the record `id` or an older one. */
export const hasRecordsUpTo = async (pool: Pool, lane: string, id: string): Promise<boolean> => {
  const { rows } = await pool.query({ text: ANY_UP_TO, values: [lane, id] })
  return rows.length > 0
}

// By the id, which has an index.
const OLDEST_WAITING = `
  SELECT (extract(epoch FROM created_at) * 1000)::float8 AS at FROM ingest.outbox ORDER BY id LIMIT 1`

/** When the oldest record of the outbox was added, in ms; `undefined` when it is empty. */
export const readOldestWaiting = async (pool: Pool): Promise<number | undefined> =>
  (await pool.query<{ at: number }>(OLDEST_WAITING)).rows[0]?.at

/** Most records that are counted. Counting more would take too long. */
const MAX_COUNTED = 100_000

const DEPTH = `
  SELECT count(*)::integer AS records,
    greatest(0, coalesce(extract(epoch FROM clock_timestamp() - min(created_at)), 0))::float8 AS "oldestSeconds"
  FROM (SELECT created_at FROM ingest.outbox ORDER BY id LIMIT ${MAX_COUNTED}) AS waiting`

/** The number of records in the outbox, at most 100,000, and the age of the oldest in seconds. */
export const readOutboxDepth = async ({
  pool,
}: Pick<Database, 'pool'>): Promise<{ records: number; oldestSeconds: number }> => {
  const { rows } = await pool.query<{ records: number; oldestSeconds: number }>(DEPTH)
  return rows[0] ?? { records: 0, oldestSeconds: 0 }
}
