import { NOW } from '@waymark/database'
import type { Pool } from 'pg'

/** An email about a webhook that was paused. `attempts` counts this one. */
export type WebhookNotice = {
  id: string
  url: string
  reason: string | null
  project: string
  recipient: string
  attempts: number
}

// A claim lasts five minutes, longer with each attempt. The management API fills in recipients.
const CLAIM = `
  UPDATE webhook.webhooks w SET notice_attempts = notice_attempts + 1,
    notice_due_at = now() + (notice_attempts + 1) * interval '5 minutes'
  WHERE id = (
    SELECT id FROM webhook.webhooks WHERE notice_due_at <= ${NOW} AND notice_recipient IS NOT NULL
    ORDER BY notice_due_at LIMIT 1 FOR UPDATE SKIP LOCKED)
  RETURNING id, url, paused_reason AS reason, notice_attempts AS attempts, notice_recipient AS recipient,
    (SELECT name FROM core.projects p WHERE p.id = w.project_id) AS project`
const DONE = `
  UPDATE webhook.webhooks SET notice_due_at = NULL, notice_recipient = NULL WHERE id = $1 AND notice_attempts = $2`

/** Claims an email about a paused webhook that is due. */
export const claimWebhookNotice = async (pool: Pool): Promise<WebhookNotice | undefined> => {
  const { rows } = await pool.query<WebhookNotice>(CLAIM)
  return rows[0]
}

/** Ends the attempts to send an email about a paused webhook, unless another claim has started. */
export const finishWebhookNotice = async (pool: Pool, id: string, attempts: number): Promise<void> => {
  await pool.query(DONE, [id, attempts])
}
