import type { Pool } from 'pg'

const RECEIPT = 'SELECT received_at FROM ingest.event_ids WHERE project_id = $1 AND event_key = $2'

/** When the event that has the claim of an id was received, in ms; `undefined` without a claim. */
export const findReceipt = async (
  pool: Pool,
  projectId: string,
  eventKey: string,
): Promise<number | undefined> => {
  const { rows } = await pool.query<{ received_at: Date }>(RECEIPT, [projectId, eventKey])
  return rows[0]?.received_at.getTime()
}
