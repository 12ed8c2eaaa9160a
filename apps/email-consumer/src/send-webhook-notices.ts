import type { Log } from '@waymark/contracts/log'
import type { Pool } from 'pg'
import { v7 as uuidv7 } from 'uuid'
import { createSendQueuedMails } from './send-queued-mails.ts'
import type { MailTransport } from './transport.ts'
import { claimWebhookNotice, finishWebhookNotice, type WebhookNotice } from './webhook-notice-queries.ts'

type Deps = { pool: Pool; transport: MailTransport; from: string; publicUrl: string; log: Log }

/** Emails that webhooks were paused, or that their creator left, until none is due or `signal` aborts. */
export const createSendWebhookNotices = ({ pool, transport, from, publicUrl, log }: Deps) =>
  createSendQueuedMails({ transport, from, log }, async () => {
    const claimed = await claimWebhookNotice(pool)
    if (!claimed) return undefined
    const { id, recipient, project, attempts } = claimed
    return {
      // Not that of the webhook, which may be paused again.
      id: uuidv7(),
      recipient,
      attempts,
      message:
        claimed.reason === null
          ? { subject: `Webhooks of ${project} outlast their creator`, text: leftText(claimed, publicUrl) }
          : { subject: `A webhook of ${project} was paused`, text: textOf(claimed, publicUrl) },
      finish: () => finishWebhookNotice(pool, id, attempts),
    }
  })

const leftText = ({ url, project }: WebhookNotice, publicUrl: string): string =>
  `A member who created webhooks of the project ${project} has left it, among them the one to

${url}

Webhooks belong to the project: they go on delivering. Look whether each is still wanted, and rotate
the secrets that the member may know:

${publicUrl}
`

const textOf = ({ url, reason, project }: WebhookNotice, publicUrl: string): string => {
  const why = reason === 'gone' ? 'it answered 410 Gone' : 'no attempt to deliver succeeded for three days'
  return `The webhook of the project ${project} to

${url}

was paused, because ${why}. Events are no longer delivered to it.

Once the endpoint works, activate the webhook again:

${publicUrl}
`
}
