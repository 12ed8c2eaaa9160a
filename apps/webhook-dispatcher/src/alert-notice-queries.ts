import { NOW } from '@waymark/database'
import type { AlertMessage } from '@waymark/domain/alert'
import type { Pool } from 'pg'

/** A message about an alert to an incoming webhook of Slack. `attempts` counts this one. */
export type SlackNotice = { id: string; url: string; message: AlertMessage; attempts: number }

// A claim lasts two minutes, which is longer than an endpoint may take, and longer with each attempt.
const CLAIM = `
  UPDATE core.alert_notices SET attempts = attempts + 1, due_at = now() + (attempts + 1) * interval '2 minutes'
  WHERE id = (
    SELECT id FROM core.alert_notices WHERE channel = 'slack' AND due_at <= ${NOW}
    ORDER BY due_at LIMIT 1 FOR UPDATE SKIP LOCKED
  )
  RETURNING id, recipient AS url, message, attempts`
const DONE = 'DELETE FROM core.alert_notices WHERE id = $1 AND attempts = $2'

/** Claims a message to Slack that is due. */
export const claimSlackNotice = async (pool: Pool): Promise<SlackNotice | undefined> => {
  const { rows } = await pool.query<SlackNotice>(CLAIM)
  return rows[0]
}

/** Ends the attempts to send a message to Slack, unless another claim has started. */
export const finishSlackNotice = async (pool: Pool, id: string, attempts: number): Promise<void> => {
  await pool.query(DONE, [id, attempts])
}
