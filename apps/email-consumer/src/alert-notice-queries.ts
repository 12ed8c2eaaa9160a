import { NOW } from '@waymark/database'
import type { AlertMessage } from '@waymark/domain/alert'
import type { Pool } from 'pg'

/** An email about an alert. `attempts` counts this one. */
export type AlertNotice = { id: string; recipient: string; message: AlertMessage; attempts: number }

// A claim lasts five minutes, longer with each attempt.
const CLAIM = `
  UPDATE core.alert_notices SET attempts = attempts + 1, due_at = now() + (attempts + 1) * interval '5 minutes'
  WHERE id = (
    SELECT id FROM core.alert_notices WHERE channel = 'email' AND due_at <= ${NOW}
    ORDER BY due_at LIMIT 1 FOR UPDATE SKIP LOCKED
  )
  RETURNING id, recipient, message, attempts`
const DONE = 'DELETE FROM core.alert_notices WHERE id = $1 AND attempts = $2'

/** Claims an email about an alert that is due. */
export const claimAlertNotice = async (pool: Pool): Promise<AlertNotice | undefined> => {
  const { rows } = await pool.query<AlertNotice>(CLAIM)
  return rows[0]
}

/** Ends the attempts to send an email about an alert, unless another claim has started. */
export const finishAlertNotice = async (pool: Pool, id: string, attempts: number): Promise<void> => {
  await pool.query(DONE, [id, attempts])
}
