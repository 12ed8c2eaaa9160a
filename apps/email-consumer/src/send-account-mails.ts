import type { AccountMailKind, Log } from '@waymark/contracts'
import { generateToken } from '@waymark/domain'
import type { Pool } from 'pg'
import { claimAccountMail, finishAccountMail } from './account-mail-queries.ts'
import { createSendQueuedMails } from './send-queued-mails.ts'
import type { MailTransport } from './transport.ts'

type Deps = { pool: Pool; transport: MailTransport; from: string; publicUrl: string; log: Log }

/** Sends the emails to users about their account, until none is due or the signal aborts. */
export const createSendAccountMails = ({ pool, transport, from, publicUrl, log }: Deps) =>
  createSendQueuedMails({ transport, from, log }, async () => {
    const { token, hash } = generateToken()
    const claimed = await claimAccountMail(pool, hash)
    if (!claimed) return undefined
    const { id, kind, recipient, attempts, createdAt } = claimed
    return {
      id,
      recipient,
      attempts,
      message: messages[kind]({ recipient, token, at: createdAt, pages: `${publicUrl}/console` }),
      finish: () => finishAccountMail(pool, id, attempts),
    }
  })

type MailValues = { recipient: string; token: string; at: Date; pages: string }

// The texts contain nothing that the user chose except the address, because the mailbox may be a stranger's.
const messages: Record<AccountMailKind, (values: MailValues) => { subject: string; text: string }> = {
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
