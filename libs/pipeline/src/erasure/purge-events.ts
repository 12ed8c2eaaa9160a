import type { ClientBase } from 'pg'
import type { ErasureJob, PurgeDeps } from './erasure-job.ts'

const ROWS = 1_000
const FIND = `
  SELECT received_at, event_key FROM ingest.events WHERE project_id = $1 AND profile_id = ANY($2::uuid[]) LIMIT ${ROWS}`
const DELETE = `
  DELETE FROM ingest.events USING unnest($2::timestamptz[], $3::uuid[]) AS gone (received_at, event_key)
  WHERE events.project_id = $1 AND events.received_at = gone.received_at AND events.event_key = gone.event_key`

/**
 * Erases a thousand events of a person, in the analytics store first: only the primary one knows which they are. That an
 * id was stored once stays known, so that a client that sends the event again does not bring it back.
 */
export const purgeEvents = async (
  { analytics }: Pick<PurgeDeps, 'analytics'>,
  client: ClientBase,
  { projectId, profileIds }: ErasureJob,
): Promise<number> => {
  const { rows } = await client.query<{ received_at: Date; event_key: string }>(FIND, [projectId, profileIds])
  if (rows.length === 0) return 0
  await analytics.eraseEvents(rows.map(({ event_key }) => ({ projectId, eventKey: event_key })))
  const times = rows.map(({ received_at }) => received_at)
  const keys = rows.map(({ event_key }) => event_key)
  const { rowCount } = await client.query(DELETE, [projectId, times, keys])
  return rowCount ?? 0
}
