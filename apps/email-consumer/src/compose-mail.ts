import { parseMailbox, type RenderedMessage } from '@waymark/domain'
import MailComposer from 'nodemailer/lib/mail-composer'
import type { OutgoingMail } from './transport.ts'

/** A message and what its headers are made of; `from` is a mailbox such as `Shop <hello@shop.example>`. */
export type MailParts = {
  id: string
  from: string
  to: string
  message: RenderedMessage
  unsubscribeUrl: string
}

/**
 * The message as it goes over the wire. Its `Message-ID` is the delivery's id, the same at every attempt, so that whoever gets
 * it twice can tell. The one-click headers are those of RFC 8058.
 * @throws Error when `from` is no mailbox
 */
export const composeMail = async ({
  id,
  from,
  to,
  message,
  unsubscribeUrl,
}: MailParts): Promise<OutgoingMail> => {
  const sender = parseMailbox(from)
  if (!sender) throw new Error('the sender is not an address')
  const composer = new MailComposer({
    from: sender,
    to: { name: '', address: to },
    subject: message.subject,
    html: message.html,
    text: message.text,
    messageId: `<${id}@${sender.address.split('@')[1]}>`,
    headers: {
      'Auto-Submitted': 'auto-generated',
      'List-Unsubscribe': { prepared: true, value: `<${unsubscribeUrl}>` },
      'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click',
    },
    disableFileAccess: true,
    disableUrlAccess: true,
  })
  return { id, envelope: { from: sender.address, to }, raw: await composer.compile().build() }
}

/** The delivery that a `Message-ID` of ours names, in angle brackets or not. */
export const deliveryOfMessageId = (messageId: string): string | undefined =>
  /^<?([0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12})@[^@>]+>?$/.exec(messageId.trim())?.[1]
