import { parseMailbox } from '@waymark/domain'
import MailComposer from 'nodemailer/lib/mail-composer'
import type { OutgoingMail } from './transport.ts'

/** Whom a link is mailed to, and what for. `from` is a mailbox such as `Shop <hello@shop.example>`. */
export type VerificationMail = { id: string; from: string; recipient: string; sender: string; url: string }

/**
 * The message that asks to verify a sender. Nothing in it but the sender is chosen by who asked, so that it is no way to
 * write to strangers.
 * @throws Error when `from` is no mailbox
 */
export const composeVerificationMail = async ({
  id,
  from,
  recipient,
  sender,
  url,
}: VerificationMail): Promise<OutgoingMail> => {
  const mailbox = parseMailbox(from)
  if (!mailbox) throw new Error('the sender is not an address')
  const text = `Somebody asked to send emails from ${sender} with Waymark.

If you know who, and want to allow it, open this page and confirm:

${url}

The link is good once and for 24 hours. If you do not expect this, do nothing.
`
  const composer = new MailComposer({
    from: mailbox,
    to: { name: '', address: recipient },
    subject: `Confirm ${sender} as a sender`,
    text,
    headers: { 'Auto-Submitted': 'auto-generated' },
    disableFileAccess: true,
    disableUrlAccess: true,
  })
  return { id, envelope: { from: mailbox.address, to: recipient }, raw: await composer.compile().build() }
}
