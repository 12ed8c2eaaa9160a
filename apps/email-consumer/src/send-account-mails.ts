import type { AccountMailKind, Log } from '@waymark/contracts'
import { generateToken } from '@waymark/domain'
import type { Pool } from 'pg'
import { createSendQueuedMails } from './send-queued-mails.ts'
import type { MailTransport } from './transport.ts'

type Deps = { pool: Pool; transport: MailTransport; from: string; publicUrl: string; log: Log }
type Claimed = { id: string; kind: AccountMailKind; recipient: string; created_at: Date; attempts: number }

// A claim lasts five minutes, longer with each attempt. An attempt makes the link of the previous one invalid.
const CLAIM = `
  UPDATE email.account_mails SET
    token_hash = CASE WHEN kind IN ('reset_password', 'verify_email') THEN $1::bytea END,
    token_expires_at = now() + CASE kind
      WHEN 'reset_password' THEN interval '1 hour' WHEN 'verify_email' THEN interval '24 hours' END,
    mail_attempts = mail_attempts + 1, mail_due_at = now() + (mail_attempts + 1) * interval '5 minutes'
  WHERE id = (
    SELECT id FROM email.account_mails WHERE mail_due_at <= now()
    ORDER BY mail_due_at LIMIT 1 FOR UPDATE SKIP LOCKED)
  RETURNING id, kind, recipient, created_at, mail_attempts AS attempts`
const DONE = 'UPDATE email.account_mails SET mail_due_at = NULL WHERE id = $1 AND mail_attempts = $2'

/** Sends the emails to users about their account, until none is due or the signal aborts. */
export const createSendAccountMails = ({ pool, transport, from, publicUrl, log }: Deps) =>
  createSendQueuedMails({ transport, from, log }, async () => {
    const { token, hash } = generateToken()
    const { rows } = await pool.query<Claimed>(CLAIM, [hash])
    const [claimed] = rows
    if (!claimed) return undefined
    const { id, kind, recipient, attempts, created_at } = claimed
    return {
      id,
      recipient,
      attempts,
      message: messages[kind]({ recipient, token, at: created_at, pages: `${publicUrl}/console` }),
      finish: async () => {
        await pool.query(DONE, [id, attempts])
      },
    }
  })

type Asked = { recipient: string; token: string; at: Date; pages: string }

// The texts contain nothing that the user chose except the address, because the mailbox may be a stranger's.
const messages: Record<AccountMailKind, (asked: Asked) => { subject: string; text: string }> = {
  reset_password: ({ recipient, token, pages }) => ({
    subject: 'Reset your Waymark password',
    text: `Somebody asked to reset the password of the Waymark account ${recipient}.

To set a new password, open this page:

${pages}/reset-password?token=${token}

The link is valid once and for 1 hour. If you did not ask for it, ignore this email: your password
stays as it is.
`,
  }),
  verify_email: ({ recipient, token, pages }) => ({
    subject: 'Confirm your email address for Waymark',
    text: `There is a Waymark account with the address ${recipient}.

If it is yours, open this page to confirm the address:

${pages}/verify-email?token=${token}

The link is valid once and for 24 hours. If the account is not yours, ignore this email.
`,
  }),
  access_token_created: ({ recipient, at, pages }) => ({
    subject: 'An access token was created for your Waymark account',
    text: `A personal access token was created for the Waymark account ${recipient} at
${at.toISOString()}. Programs that have it can act as you until it expires.

If you did not create it, set another password now, which revokes all access tokens:

${pages}/forgot-password
`,
  }),
  password_changed: ({ recipient, at, pages }) => ({
    subject: 'Your Waymark password was changed',
    text: `The password of the Waymark account ${recipient} was changed at
${at.toISOString()}. All other sessions have ended.

If you did not change it, set another password now:

${pages}/forgot-password
`,
  }),
}
