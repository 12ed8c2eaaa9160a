import { setImmediate as nextTurn } from 'node:timers/promises'
import { createSchemaInference } from '@waymark/domain'
import type { Pool } from 'pg'

/** Events per read. Each may have 32 KiB, and parsing many at once would delay other requests. */
const CHUNK_ROWS = 5

const NEWEST = `
  SELECT event_key, received_at, properties FROM ingest.events
  WHERE project_id = $1 AND event_name = $2 AND (received_at, event_key) < ($3, $4)
  ORDER BY received_at DESC, event_key DESC LIMIT $5`

type Sample = { projectId: string; eventName: string; sampleSize: number }
type Row = { event_key: string; received_at: Date | 'infinity'; properties: Record<string, unknown> }

/** A schema that fits the latest events of a name, and how many events were sampled. */
export const inferSchemaOf = async (
  pool: Pool,
  { projectId, eventName, sampleSize }: Sample,
): Promise<{ sampled: number; schema: Record<string, unknown> }> => {
  const inference = createSchemaInference()
  let sampled = 0
  let last: Omit<Row, 'properties'> = {
    received_at: 'infinity',
    event_key: 'ffffffff-ffff-ffff-ffff-ffffffffffff',
  }
  while (sampled < sampleSize) {
    const wanted = Math.min(CHUNK_ROWS, sampleSize - sampled)
    const { rows } = await pool.query<Row>(NEWEST, [
      projectId,
      eventName,
      last.received_at,
      last.event_key,
      wanted,
    ])
    for (const { properties } of rows) {
      inference.add(properties)
      // One event can take milliseconds, so other requests run in between.
      await nextTurn()
    }
    sampled += rows.length
    last = rows.at(-1) ?? last
    if (rows.length < wanted) break
  }
  return { sampled, schema: inference.schema() }
}
