import type { Log } from '@waymark/contracts/log'
import { generateToken } from '@waymark/domain/account'
import type { Pool } from 'pg'
import { createSendQueuedMails } from './send-queued-mails.ts'
import { claimVerification, finishVerification, VERIFICATION_HOURS } from './sender-queries.ts'
import type { MailTransport } from './transport.ts'

type Deps = { pool: Pool; transport: MailTransport; from: string; publicUrl: string; log: Log }

/** Sends the emails that verify senders, until none is due or the signal aborts. */
export const createSendVerifications = ({ pool, transport, from, publicUrl, log }: Deps) =>
  createSendQueuedMails({ transport, from, log }, async () => {
    const { token, hash } = generateToken()
    const claimed = await claimVerification(pool, hash)
    if (!claimed) return undefined
    const { id, recipient, sender, attempts } = claimed
    const text = textOf(sender, `${publicUrl}/u/senders/${token}`)
    return {
      id,
      recipient,
      attempts,
      message: { subject: `Confirm ${sender} as a sender`, text },
      finish: (error) => finishVerification(pool, id, hash, error),
    }
  })

// Only the sender is chosen by the requester, so that the email cannot carry messages to strangers.
const textOf = (
  sender: string,
  url: string,
): string => `Someone asked to send emails from ${sender} with Waymark.

If you know who, and want to allow it, open this page and confirm:

${url}

The link is good once and for ${VERIFICATION_HOURS} hours. If you do not expect this, do nothing.
`
