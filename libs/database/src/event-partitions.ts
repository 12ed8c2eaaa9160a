import type { Pool } from 'pg'
import { withTransaction } from './transaction.ts'

const LOCK = `SELECT pg_advisory_xact_lock(hashtextextended('waymark:event-partitions', 0))`
const ATTACHED = `
  SELECT relname AS name FROM pg_inherits JOIN pg_class ON pg_class.oid = inhrelid
  WHERE inhparent = 'ingest.events'::regclass`

export type EventPartitionsOptions = {
  now: Date
  /** How many months after the one of `now` to make; default 2. */
  monthsAhead?: number
}

/**
 * Makes the monthly partitions of `ingest.events` (UTC) from the month before `now` to `monthsAhead` after it where
 * they are missing. Idempotent, safe in any number of processes, and writers go on meanwhile.
 * @returns the names of the partitions that were made
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
    for (const { name, from, to } of missing) {
      // CREATE TABLE … PARTITION OF would lock all writers out; ATTACH does not.
      await client.query(`CREATE TABLE partitions.${name} (LIKE ingest.events INCLUDING ALL)`)
      await client.query(
        `ALTER TABLE ingest.events ATTACH PARTITION partitions.${name} FOR VALUES FROM ('${from}') TO ('${to}')`,
      )
    }
    return missing.map(({ name }) => name)
  })

type MonthlyPartition = { name: string; from: string; to: string }

/** The partitions from the month before `now` to `monthsAhead` after it; `to` is exclusive. */
export const monthsAround = (now: Date, monthsAhead: number): MonthlyPartition[] => {
  const startOf = (offset: number) =>
    new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + offset, 1)).toISOString()
  return Array.from({ length: monthsAhead + 2 }, (_, index) => {
    const from = startOf(index - 1)
    return { name: `events_${from.slice(0, 7).replace('-', '_')}`, from, to: startOf(index) }
  })
}
