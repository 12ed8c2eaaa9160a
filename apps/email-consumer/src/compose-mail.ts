import { deliverableAddress } from '@waymark/contracts/email-address'
import { parseMailbox } from '@waymark/domain/email'
import MailComposer from 'nodemailer/lib/mail-composer'
import type { OutgoingMail } from './transport.ts'

/** What a message says. HTML refers to a picture, a PNG, by `cid:` and its content id. */
export type MailMessage = {
  subject: string
  text: string
  html?: string
  pictures?: readonly { cid: string; png: Buffer }[]
}

/** The parts of a message; `from` is a mailbox such as `Shop <hello@shop.example>`. */
type MailParts = {
  id: string
  from: string
  to: string
  message: MailMessage
  /** Only for emails whose `Message-ID` is their id, so that repeated attempts are recognizable. */
  unsubscribeUrl?: string
}

/**
 * Encodes a message. Its one-click unsubscribe headers are those of RFC 8058.
 * @throws Error when `from` is not a mailbox, or `to` no address
 */
export const composeMail = async ({
  id,
  from,
  to,
  message: { pictures = [], ...message },
  unsubscribeUrl,
}: MailParts): Promise<OutgoingMail> => {
  const sender = parseMailbox(from)
  const senderAddress = deliverableAddress(sender?.address ?? '')
  const recipient = deliverableAddress(to)
  if (!sender || senderAddress === undefined) throw new Error('the sender is not an address')
  if (recipient === undefined) throw new Error('the recipient is not an address')
  const composer = new MailComposer({
    ...message,
    from: { name: sender.name, address: senderAddress },
    to: { name: '', address: recipient },
    ...(unsubscribeUrl !== undefined && { messageId: `<${id}@${senderAddress.split('@')[1]}>` }),
    attachments: pictures.map(({ cid, png }) => ({
      cid,
      content: png,
      contentType: 'image/png',
      contentDisposition: 'inline' as const,
    })),
    headers: {
      'Auto-Submitted': 'auto-generated',
      ...(unsubscribeUrl !== undefined && {
        'List-Unsubscribe': { prepared: true, value: `<${unsubscribeUrl}>` },
        'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click',
      }),
    },
    disableFileAccess: true,
    disableUrlAccess: true,
  })
  return { id, envelope: { from: senderAddress, to: recipient }, raw: await composer.compile().build() }
}

/** The delivery in the `Message-ID` of one of our messages, with or without angle brackets. */
export const deliveryOfMessageId = (messageId: string): string | undefined =>
  /^<?([0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12})@[^@>]+>?$/.exec(messageId.trim())?.[1]
