import { AppError } from '@waymark/contracts/app-error'
import { showUnsubscribe, unsubscribe } from '@waymark/contracts/http/email-feedback'
import type { Database } from '@waymark/database'
import { deliveryOfToken } from '@waymark/domain/email'
import { type HttpRequest, type Route, route } from '@waymark/service-kit'
import { findRecipient, type Recipient } from './delivery-queries.ts'
import { pageReply } from './page-reply.ts'
import { suppress } from './suppression-queries.ts'

type Deps = { db: Database; secrets: readonly string[] }

/** The unsubscribe link of every email: a confirmation page, and the request that unsubscribes. */
export const unsubscribeRoutes = ({ db, secrets }: Deps): Route[] => {
  const recipientOf = async ({ params }: HttpRequest): Promise<Recipient> => {
    const deliveryId = deliveryOfToken(params.token ?? '', secrets)
    const recipient = deliveryId && (await findRecipient(db.pool, deliveryId))
    if (!recipient) throw new AppError('not_found', 'The link is not valid')
    return recipient
  }
  return [
    route(showUnsubscribe, async (request) => {
      const { project, address } = await recipientOf(request)
      return pageReply({
        title: 'Unsubscribe',
        text: `No more emails from ${project} to ${masked(address)}?`,
        action: 'Unsubscribe',
      })
    }),
    route(unsubscribe, async (request) => {
      const { projectId, project, address } = await recipientOf(request)
      await suppress(db.pool, [{ projectId, address, reason: 'unsubscribed', detail: null }])
      return pageReply({
        title: 'Unsubscribed',
        text: `${masked(address)} gets no more emails from ${project}.`,
      })
    }),
  ]
}

// People to whom an email is forwarded must not learn the address.
const masked = (address: string): string => address.replace(/^(.).*(?=@)/u, '$1***')
