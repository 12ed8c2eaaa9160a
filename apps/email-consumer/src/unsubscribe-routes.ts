import { AppError } from '@waymark/contracts/app-error'
import { showUnsubscribe, unsubscribe } from '@waymark/contracts/http/email-feedback'
import type { Database } from '@waymark/database'
import { deliveryOfToken } from '@waymark/domain/email'
import { type HttpRequest, type Route, route } from '@waymark/service-kit'
import type { Pool } from 'pg'
import { findRecipient } from './delivery-queries.ts'
import { pageReply } from './page-reply.ts'
import { findSubscriber, unsubscribeSubscriber } from './subscription-mail-queries.ts'
import { suppress } from './suppression-queries.ts'

type Deps = { db: Database; secrets: readonly string[] }

/** Who unsubscribes from what. */
type Subject = { address: string; from: string; end: () => Promise<unknown> }

/** The unsubscribe link of every email: a confirmation page, and the request that unsubscribes. */
export const unsubscribeRoutes = ({ db, secrets }: Deps): Route[] => {
  const subjectOf = async ({ params }: HttpRequest): Promise<Subject> => {
    const id = deliveryOfToken(params.token ?? '', secrets)
    const subject = id && ((await findDeliverySubject(db.pool, id)) ?? (await findSubscription(db.pool, id)))
    if (!subject) throw new AppError('not_found', 'The link is not valid')
    return subject
  }
  return [
    route(showUnsubscribe, async (request) => {
      const { address, from } = await subjectOf(request)
      return pageReply({
        title: 'Unsubscribe',
        text: `No more emails from ${from} to ${masked(address)}?`,
        action: 'Unsubscribe',
      })
    }),
    route(unsubscribe, async (request) => {
      const { address, from, end } = await subjectOf(request)
      await end()
      return pageReply({
        title: 'Unsubscribed',
        text: `${masked(address)} gets no more emails from ${from}.`,
      })
    }),
  ]
}

const findDeliverySubject = async (pool: Pool, deliveryId: string): Promise<Subject | undefined> => {
  const recipient = await findRecipient(pool, deliveryId)
  if (!recipient) return undefined
  const { projectId, project, address } = recipient
  return {
    address,
    from: project,
    end: () => suppress(pool, [{ projectId, address, reason: 'unsubscribed', detail: null }]),
  }
}

const findSubscription = async (pool: Pool, recipientId: string): Promise<Subject | undefined> => {
  const subscriber = await findSubscriber(pool, recipientId)
  if (!subscriber) return undefined
  const { id, address, project, subscription } = subscriber
  return {
    address,
    from: `the subscription ${subscription} of ${project}`,
    end: () => unsubscribeSubscriber(pool, id),
  }
}

// People to whom an email is forwarded must not learn the address.
const masked = (address: string): string => address.replace(/^(.).*(?=@)/u, '$1***')
