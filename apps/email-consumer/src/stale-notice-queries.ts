import { NOW } from '@waymark/database'
import type { Pool } from 'pg'

/** An email about stale decisions. `attempts` counts this one. */
export type StaleNotice = {
  id: string
  projectId: string
  /** The name of the project. */
  project: string
  recipient: string
  /** A newer version may write other reasons. */
  decisions: { key: string; reason: string; variant?: string; since: string }[]
  /** The number of stale decisions, of which `decisions` has the first. */
  total: number
  attempts: number
}

// A claim lasts five minutes, longer with each attempt.
const CLAIM = `
  UPDATE decision.stale_notices n SET attempts = attempts + 1, due_at = now() + (attempts + 1) * interval '5 minutes'
  WHERE id = (SELECT id FROM decision.stale_notices WHERE due_at <= ${NOW} ORDER BY due_at LIMIT 1 FOR UPDATE SKIP LOCKED)
  RETURNING id, project_id AS "projectId", recipient, decisions, total, attempts,
    (SELECT name FROM core.projects p WHERE p.id = n.project_id) AS project`
const DONE = 'DELETE FROM decision.stale_notices WHERE id = $1 AND attempts = $2'

/** Claims an email about stale decisions that is due. */
export const claimStaleNotice = async (pool: Pool): Promise<StaleNotice | undefined> => {
  const { rows } = await pool.query<StaleNotice>(CLAIM)
  return rows[0]
}

/** Ends the attempts to send an email about stale decisions, unless another claim has started. */
export const finishStaleNotice = async (pool: Pool, id: string, attempts: number): Promise<void> => {
  await pool.query(DONE, [id, attempts])
}
