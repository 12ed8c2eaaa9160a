import type { Log } from '@waymark/contracts'
import type { Pool } from 'pg'
import { v7 as uuidv7 } from 'uuid'
import { createSendQueuedMails } from './send-queued-mails.ts'
import type { MailTransport } from './transport.ts'

type Deps = { pool: Pool; transport: MailTransport; from: string; publicUrl: string; log: Log }
type Claimed = {
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
    SELECT id FROM webhook.webhooks WHERE notice_due_at <= now() AND notice_recipient IS NOT NULL
    ORDER BY notice_due_at LIMIT 1 FOR UPDATE SKIP LOCKED)
  RETURNING id, url, paused_reason AS reason, notice_attempts AS attempts, notice_recipient AS recipient,
    (SELECT name FROM core.projects p WHERE p.id = w.project_id) AS project`
const DONE = `
  UPDATE webhook.webhooks SET notice_due_at = NULL, notice_recipient = NULL WHERE id = $1 AND notice_attempts = $2`

/** Mails the owners of webhooks that were paused, until no email is due or `signal` aborts. */
export const createSendWebhookNotices = ({ pool, transport, from, publicUrl, log }: Deps) =>
  createSendQueuedMails({ transport, from, log }, async () => {
    const { rows } = await pool.query<Claimed>(CLAIM)
    const [claimed] = rows
    if (!claimed) return undefined
    const { id, recipient, project, attempts } = claimed
    return {
      // Not that of the webhook, which may be paused again.
      id: uuidv7(),
      recipient,
      attempts,
      message: { subject: `A webhook of ${project} was paused`, text: textOf(claimed, publicUrl) },
      finish: async () => {
        await pool.query(DONE, [id, attempts])
      },
    }
  })

const textOf = ({ url, reason, project }: Claimed, publicUrl: string): string => {
  const why = reason === 'gone' ? 'it answered 410 Gone' : 'no attempt to deliver succeeded for three days'
  return `The webhook of the project ${project} to

${url}

was paused, because ${why}. Events are no longer delivered to it.

Once the endpoint works, activate the webhook again:

${publicUrl}
`
}
