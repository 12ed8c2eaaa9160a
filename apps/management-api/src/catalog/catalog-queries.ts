import type { Prisma } from '@waymark/database'
import type { Pool } from 'pg'

/** Locks the definition of an event name until the transaction ends, if it exists. */
export const lockDefinitionOf = async (
  tx: Pick<Prisma.TransactionClient, '$queryRaw'>,
  projectId: string,
  name: string,
): Promise<void> => {
  await tx.$queryRaw`
    SELECT 1 FROM core.event_definitions WHERE project_id = ${projectId}::uuid AND name = ${name} FOR UPDATE`
}

const READ_BEFORE = `
  SELECT event_key, received_at, properties FROM ingest.events
  WHERE project_id = $1 AND event_name = $2 AND (received_at, event_key) < ($3, $4)
  ORDER BY received_at DESC, event_key DESC LIMIT $5`

/** The properties of a stored event, and its place in the order of receipt. */
export type NewestEvent = { event_key: string; received_at: Date; properties: Record<string, unknown> }

/** Reads the latest events of a name that were received before another one, the latest first. */
export const readEventsBefore = async (
  pool: Pool,
  {
    projectId,
    eventName,
    before,
    limit,
  }: { projectId: string; eventName: string; before: NewestEvent | undefined; limit: number },
): Promise<NewestEvent[]> => {
  const { rows } = await pool.query<NewestEvent>(READ_BEFORE, [
    projectId,
    eventName,
    before?.received_at ?? 'infinity',
    before?.event_key ?? 'ffffffff-ffff-ffff-ffff-ffffffffffff',
    limit,
  ])
  return rows
}
