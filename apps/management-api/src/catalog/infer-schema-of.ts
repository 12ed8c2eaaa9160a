import { setImmediate as nextTurn } from 'node:timers/promises'
import { createSchemaInference } from '@waymark/domain/catalog'
import type { Pool } from 'pg'
import { type NewestEvent, readEventsBefore } from './catalog-queries.ts'

/** Events per read. Each may have 32 KiB, and parsing many at once would delay other requests. */
const CHUNK_ROWS = 5

type Sample = { projectId: string; eventName: string; sampleSize: number }

/** A schema that fits the latest events of a name, and how many events were sampled. */
export const inferSchemaOf = async (
  pool: Pool,
  { projectId, eventName, sampleSize }: Sample,
): Promise<{ sampled: number; schema: Record<string, unknown> }> => {
  const inference = createSchemaInference()
  let sampled = 0
  let last: NewestEvent | undefined
  while (sampled < sampleSize) {
    const wanted = Math.min(CHUNK_ROWS, sampleSize - sampled)
    const events = await readEventsBefore(pool, { projectId, eventName, before: last, limit: wanted })
    for (const { properties } of events) {
      inference.add(properties)
      // One event can take milliseconds, so other requests run in between.
      await nextTurn()
    }
    sampled += events.length
    last = events.at(-1) ?? last
    if (events.length < wanted) break
  }
  return { sampled, schema: inference.schema() }
}
