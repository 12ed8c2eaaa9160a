import type { Database } from '@waymark/database'

/** The most records that are counted: past that the number says only that there are very many. */
const MOST_COUNTED = 100_000

const DEPTH = `
  SELECT count(*)::integer AS records,
    greatest(0, coalesce(extract(epoch FROM clock_timestamp() - min(created_at)), 0))::float8 AS "oldestSeconds"
  FROM (SELECT created_at FROM ingest.outbox ORDER BY id LIMIT ${MOST_COUNTED}) AS waiting`

/** How many records wait in the outbox (at most 100,000 are counted), and for how long the oldest has, in seconds. */
export const readOutboxDepth = async ({
  pool,
}: Pick<Database, 'pool'>): Promise<{ records: number; oldestSeconds: number }> => {
  const { rows } = await pool.query<{ records: number; oldestSeconds: number }>(DEPTH)
  return rows[0] ?? { records: 0, oldestSeconds: 0 }
}
