import type { AccountMailKind } from '@waymark/contracts/account-mail'
import type { Log } from '@waymark/contracts/log'
import { generateToken } from '@waymark/domain/account'
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
    text: `Someone asked to reset the password of the Waymark account ${recipient}.

To set a new password, open this page:

${pages}/reset-password?token=${token}

The link is valid once and for 1 hour. If you did not ask for it, ignore this email: your password
stays as it is.

If this address was never confirmed, the account may have been registered by someone else. A new
password then also removes the second factor and linked sign-ins, revokes server keys and open
invitations, and pauses webhooks. Check the members of your projects afterwards.
`,
  }),
  verify_email: ({ recipient, token, pages }) => ({
    subject: 'Confirm your email address for Waymark',
    text: `There is a Waymark account with the address ${recipient}.

If it is yours, open this page to confirm the address:

${pages}/verify-email?token=${token}

The link is valid once and for 24 hours. If you did not register, do not confirm it: ignore this
email, or set a password of your own, which removes what was set up in the account:

${pages}/forgot-password
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
  second_factor_added: ({ recipient, at, pages }) => ({
    subject: 'A second factor was set up for your Waymark account',
    text: `An authenticator app was set up for the Waymark account ${recipient} at
${at.toISOString()}. A sign-in now needs a code of it in addition to the password, and all other
sessions have ended.

If you did not set it up, set another password now, and ask the operator of Waymark or an owner of
your project to remove the second factor:

${pages}/forgot-password
`,
  }),
  second_factor_removed: ({ recipient, at, pages }) => ({
    subject: 'The second factor of your Waymark account was removed',
    text: `The second factor of the Waymark account ${recipient} was removed at
${at.toISOString()}. A sign-in needs the password only.

If you did not remove it and did not ask an owner of your project to, set another password now:

${pages}/forgot-password
`,
  }),
  recovery_code_used: ({ recipient, at, pages }) => ({
    subject: 'A recovery code of your Waymark account was used',
    text: `A recovery code of the Waymark account ${recipient} was used at
${at.toISOString()}. It cannot be used again.

If you did not use it, set another password now, and then create new recovery codes on the page of
your account:

${pages}/forgot-password
`,
  }),
  recovery_codes_renewed: ({ recipient, at, pages }) => ({
    subject: 'The recovery codes of your Waymark account were replaced',
    text: `The recovery codes of the Waymark account ${recipient} were replaced at
${at.toISOString()}. Earlier codes are not valid any more.

If you did not replace them, set another password now:

${pages}/forgot-password
`,
  }),
  sign_in_method_added: ({ recipient, at, pages }) => ({
    subject: 'A sign-in method was added to your Waymark account',
    text: `A single sign-on provider was linked to the Waymark account ${recipient} at
${at.toISOString()}. Anyone who signs in there as you can open the projects of its company.

If you did not link it, set another password now, and unlink it on the page of your account:

${pages}/forgot-password
`,
  }),
  password_changed: ({ recipient, at, pages }) => ({
    subject: 'Your Waymark password was changed',
    text: `The password of the Waymark account ${recipient} was changed at
${at.toISOString()}. All other sessions have ended. If the address was confirmed by this change,
what was set up in the account before was removed as well: the second factor, linked sign-ins, server
keys, open invitations and single sign-on providers. Its webhooks are paused.

If you did not change it, set another password now:

${pages}/forgot-password
`,
  }),
}
