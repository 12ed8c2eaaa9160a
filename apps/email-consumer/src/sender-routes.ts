import { AppError } from '@waymark/contracts/app-error'
import { showEmailSender, verifyEmailSender } from '@waymark/contracts/http/email-senders'
import type { Database } from '@waymark/database'
import { hashToken } from '@waymark/domain/account'
import { type HttpRequest, type Route, route } from '@waymark/service-kit'
import { pageReply } from './page-reply.ts'
import { findSender, type SenderOfTenant, verifySender } from './sender-queries.ts'

/** The link that verifies a sender: a confirmation page, and the request that confirms. */
export const senderRoutes = ({ db }: { db: Database }): Route[] => {
  const senderOf = async (query: typeof findSender, { params }: HttpRequest): Promise<SenderOfTenant> => {
    const hash = hashToken(params.token ?? '')
    const sender = hash && (await query(db.pool, hash))
    if (!sender) throw new AppError('not_found', 'The link is not valid, was already used or has expired')
    return sender
  }
  return [
    route(showEmailSender, async (request) => {
      const { sender, tenant } = await senderOf(findSender, request)
      return pageReply({
        title: 'Confirm a sender',
        text: `May ${tenant} send emails from ${sender}?`,
        action: 'Allow',
      })
    }),
    route(verifyEmailSender, async (request) => {
      const { sender, tenant } = await senderOf(verifySender, request)
      return pageReply({ title: 'Sender confirmed', text: `${tenant} may send emails from ${sender}.` })
    }),
  ]
}
