import type { Log } from '@waymark/contracts'
import type { Pool } from 'pg'
import { v7 as uuidv7 } from 'uuid'
import { composeMail } from './compose-mail.ts'
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

const MAX_ATTEMPTS = 5

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
export const createSendWebhookNotices =
  ({ pool, transport, from, publicUrl, log }: Deps) =>
  async (signal: AbortSignal): Promise<void> => {
    while (!signal.aborted) {
      const { rows } = await pool.query<Claimed>(CLAIM)
      const [claimed] = rows
      if (!claimed) return
      const { id, recipient, project, attempts } = claimed
      const message = { subject: `A webhook of ${project} was paused`, text: textOf(claimed, publicUrl) }
      const mail = await composeMail({ id: uuidv7(), from, to: recipient, message })
      const outcome = await transport.send(mail, async () => {})
      if (outcome.kind === 'refused' && !outcome.permanent && attempts < MAX_ATTEMPTS) {
        log.warn({ webhookId: id, reason: outcome.reason }, 'Webhook notice failed; retrying later')
        continue
      }
      await pool.query(DONE, [id, attempts])
    }
  }

const textOf = ({ url, reason, project }: Claimed, publicUrl: string): string => {
  const why = reason === 'gone' ? 'it answered 410 Gone' : 'no attempt to deliver succeeded for three days'
  return `The webhook of the project ${project} to

${url}

was paused, because ${why}. Events are no longer delivered to it.

Once the endpoint works, activate the webhook again:

${publicUrl}
`
}
