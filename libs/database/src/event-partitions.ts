import type { Pool } from 'pg'
import { withTransaction } from './transaction.ts'

const LOCK = `SELECT pg_advisory_xact_lock(hashtextextended('waymark:event-partitions', 0))`
const ATTACHED = `
  SELECT relname AS name FROM pg_inherits JOIN pg_class ON pg_class.oid = inhrelid
  WHERE inhparent = 'ingest.events'::regclass`
const CREATE = 'SELECT ingest.create_event_partition($1)'

type EventPartitionsOptions = {
  now: Date
  /** Number of months after the one of `now`; default 2. */
  monthsAhead?: number
}

/**
 * Creates the missing monthly partitions of `ingest.events` (UTC), from the month before `now` to `monthsAhead` after it.
 * Idempotent, safe in several processes, and does not block writers. The role of the pool needs the right to call
 * `ingest.create_event_partition`, but not to create tables.
 * @returns the names of the created partitions
 */
export const ensureEventPartitions = (
  pool: Pool,
  { now, monthsAhead = 2 }: EventPartitionsOptions,
): Promise<string[]> =>
  withTransaction(pool, async (client) => {
    await client.query(LOCK)
    const { rows } = await client.query<{ name: string }>(ATTACHED)
    const attached = new Set(rows.map(({ name }) => name))
    const missing = monthsAround(now, monthsAhead).filter(({ name }) => !attached.has(name))
    for (const { month } of missing) await client.query(CREATE, [month])
    return missing.map(({ name }) => name)
  })

/** A monthly partition; `month` is its first day, such as `2026-11-01`. */
type MonthlyPartition = { name: string; month: string }

/** The partitions from the month before `now` to `monthsAhead` after it. */
export const monthsAround = (now: Date, monthsAhead: number): MonthlyPartition[] =>
  Array.from({ length: monthsAhead + 2 }, (_, index) => {
    const start = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + index - 1, 1))
    const month = start.toISOString().slice(0, 10)
    return { name: `events_${month.slice(0, 7).replace('-', '_')}`, month }
  })
