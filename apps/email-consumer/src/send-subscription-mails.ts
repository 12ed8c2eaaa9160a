import type { Log } from '@waymark/contracts/log'
import { unsubscribeToken } from '@waymark/domain/email'
import { reportHtml, reportPictures, reportSubject, reportText } from '@waymark/domain/subscription'
import type { Pool } from 'pg'
import { createSendQueuedMails } from './send-queued-mails.ts'
import {
  beginSubscriptionMail,
  claimSubscriptionMail,
  putOffSubscriptionMail,
  type SubscriptionMail,
  settleSubscriptionMail,
} from './subscription-mail-queries.ts'
import { findSuppressed, SUPPRESSED } from './suppression-queries.ts'
import type { MailTransport } from './transport.ts'

type Deps = {
  pool: Pool
  transport: MailTransport
  from: string
  publicUrl: string
  /** Signs unsubscribe links. */
  secret: string
  log: Log
}

/** Emails the reports of subscriptions, each once, until none is due or `signal` aborts. */
export const createSendSubscriptionMails = ({ pool, transport, from, publicUrl, secret, log }: Deps) =>
  createSendQueuedMails({ transport, from, log }, async () => {
    for (;;) {
      const mail = await claimSubscriptionMail(pool)
      if (!mail) return undefined
      const obstacle = await findObstacle(pool, mail)
      if (obstacle === undefined) {
        const { id, address, attempts, message, recipientId } = mail
        const unsubscribeUrl = `${publicUrl}/u/${unsubscribeToken(recipientId, secret)}`
        return {
          id,
          recipient: address,
          attempts,
          message: {
            subject: reportSubject(message),
            text: reportText(message, unsubscribeUrl),
            html: reportHtml(message, unsubscribeUrl),
            pictures: reportPictures(message),
          },
          unsubscribeUrl,
          begin: () => beginSubscriptionMail(pool, mail),
          putOff: () => putOffSubscriptionMail(pool, mail),
          finish: (error) => settleSubscriptionMail(pool, mail, error === null ? 'sent' : 'failed', error),
        }
      }
      await settleSubscriptionMail(pool, mail, 'skipped', obstacle)
    }
  })

/** Why an email may not be sent any more. A test was asked for by its recipient, who may have unsubscribed. */
const findObstacle = async (
  pool: Pool,
  { projectId, address, message, isArchived, isUnsubscribed }: SubscriptionMail,
): Promise<string | undefined> => {
  if (isArchived) return 'the project is archived'
  if (isUnsubscribed && !message.isTest) return 'the recipient has unsubscribed'
  const addressee = { projectId, address }
  return (await findSuppressed(pool, [addressee]))(addressee) ? SUPPRESSED : undefined
}
