import { AppError, showUnsubscribe, unsubscribe } from '@waymark/contracts'
import type { Database } from '@waymark/database'
import { deliveryOfToken } from '@waymark/domain'
import { type HttpRequest, type Route, route } from '@waymark/service-kit'
import { pageReply } from './page-reply.ts'
import { suppress } from './suppression-queries.ts'

type Deps = { db: Database; secrets: readonly string[] }
type Recipient = { projectId: string; project: string; address: string }

const FIND = `
  SELECT d.project_id AS "projectId", p.name AS project, d.recipient AS address
  FROM email.deliveries d JOIN core.projects p ON p.id = d.project_id
  WHERE d.id = $1 AND d.recipient IS NOT NULL`

/** The unsubscribe link of every email: a confirmation page, and the request that unsubscribes. */
export const unsubscribeRoutes = ({ db, secrets }: Deps): Route[] => {
  const recipientOf = async ({ params }: HttpRequest): Promise<Recipient> => {
    const deliveryId = deliveryOfToken(params.token ?? '', secrets)
    const { rows } = deliveryId
      ? await db.pool.query<Recipient>({ name: 'find-recipient', text: FIND, values: [deliveryId] })
      : { rows: [] }
    const [recipient] = rows
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
