import type { Log } from '@waymark/contracts/log'
import { alertSubject, alertText } from '@waymark/domain/alert'
import type { Pool } from 'pg'
import { claimAlertNotice, finishAlertNotice } from './alert-notice-queries.ts'
import { createSendQueuedMails } from './send-queued-mails.ts'
import type { MailTransport } from './transport.ts'

type Deps = { pool: Pool; transport: MailTransport; from: string; log: Log }

/** Emails that alerts began or ended to fire, until none is due or `signal` aborts. */
export const createSendAlertNotices = ({ pool, transport, from, log }: Deps) =>
  createSendQueuedMails({ transport, from, log }, async () => {
    const claimed = await claimAlertNotice(pool)
    if (!claimed) return undefined
    const { id, recipient, message, attempts } = claimed
    return {
      id,
      recipient,
      attempts,
      message: {
        subject: alertSubject(message),
        text: `${alertText(message)}

Alert: ${message.name}
Project: ${message.project}

To look at it, or to mute it, open

${message.address}
`,
      },
      finish: () => finishAlertNotice(pool, id, attempts),
    }
  })
