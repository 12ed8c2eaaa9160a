import type { Log } from '@waymark/contracts'
import { generateToken } from '@waymark/domain'
import type { Pool } from 'pg'
import { createSendQueuedMails } from './send-queued-mails.ts'
import type { MailTransport } from './transport.ts'

type Deps = { pool: Pool; transport: MailTransport; from: string; publicUrl: string; log: Log }
type Claimed = { id: string; sender: string; recipient: string; attempts: number }

/** How long a link is valid. */
const LINK_HOURS = 24

// A claim lasts five minutes, longer with each attempt. A new link replaces the previous one.
const CLAIM = `
  UPDATE email.senders SET token_hash = $1, token_expires_at = now() + ${LINK_HOURS} * interval '1 hour',
    mail_attempts = mail_attempts + 1, mail_due_at = now() + (mail_attempts + 1) * interval '5 minutes'
  WHERE id = (
    SELECT id FROM email.senders WHERE mail_due_at <= now() AND verified_at IS NULL
    ORDER BY mail_due_at LIMIT 1 FOR UPDATE SKIP LOCKED)
  RETURNING id, sender, recipient, mail_attempts AS attempts`
const DONE = `
  UPDATE email.senders SET mail_due_at = NULL, mail_error = $3 WHERE id = $1 AND token_hash = $2`

/** Sends the emails that verify senders, until none is due or the signal aborts. */
export const createSendVerifications = ({ pool, transport, from, publicUrl, log }: Deps) =>
  createSendQueuedMails({ transport, from, log }, async () => {
    const { token, hash } = generateToken()
    const { rows } = await pool.query<Claimed>(CLAIM, [hash])
    const [claimed] = rows
    if (!claimed) return undefined
    const { id, recipient, sender, attempts } = claimed
    const text = textOf(sender, `${publicUrl}/u/senders/${token}`)
    return {
      id,
      recipient,
      attempts,
      message: { subject: `Confirm ${sender} as a sender`, text },
      finish: async (error) => {
        await pool.query(DONE, [id, hash, error])
      },
    }
  })

// Only the sender is chosen by the requester, so that the email cannot carry messages to strangers.
const textOf = (
  sender: string,
  url: string,
): string => `Somebody asked to send emails from ${sender} with Waymark.

If you know who, and want to allow it, open this page and confirm:

${url}

The link is good once and for ${LINK_HOURS} hours. If you do not expect this, do nothing.
`
