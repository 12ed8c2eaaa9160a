import { AppError, showUnsubscribe, unsubscribe } from '@waymark/contracts'
import type { Database } from '@waymark/database'
import { deliveryOfToken } from '@waymark/domain'
import type { Route } from '@waymark/service-kit'
import type { Request, RequestHandler, Response } from 'express'
import { suppress } from './suppressions.ts'
import { PAGE_HEADERS, type PageText, unsubscribePage } from './unsubscribe-page.ts'

type Deps = { db: Database; secrets: readonly string[] }
type Recipient = { projectId: string; project: string; address: string }

const FIND = `
  SELECT d.project_id AS "projectId", p.name AS project, d.recipient AS address
  FROM email.deliveries d JOIN core.projects p ON p.id = d.project_id
  WHERE d.id = $1 AND d.recipient IS NOT NULL`

/** The link in every email: a page that asks, and the request that unsubscribes. */
export const unsubscribeRoutes = ({ db, secrets }: Deps): Route[] => {
  const recipientOf = async (req: Request): Promise<Recipient> => {
    const token = typeof req.params.token === 'string' ? req.params.token : ''
    const deliveryId = deliveryOfToken(token, secrets)
    const { rows } = deliveryId
      ? await db.pool.query<Recipient>({ name: 'find-recipient', text: FIND, values: [deliveryId] })
      : { rows: [] }
    const [recipient] = rows
    if (!recipient) throw new AppError('not_found', 'This is not a link of an email')
    return recipient
  }
  const ask: RequestHandler = async (req, res) => {
    const { project, address } = await recipientOf(req)
    answer(res, {
      title: 'Unsubscribe',
      text: `No more emails from ${project} to ${masked(address)}?`,
      action: 'Unsubscribe',
    })
  }
  const confirm: RequestHandler = async (req, res) => {
    const { projectId, project, address } = await recipientOf(req)
    await suppress(db.pool, [{ projectId, address, reason: 'unsubscribed', detail: null }])
    answer(res, { title: 'Unsubscribed', text: `${masked(address)} gets no more emails from ${project}.` })
  }
  return [
    { operation: showUnsubscribe, handlers: [ask] },
    { operation: unsubscribe, handlers: [confirm] },
  ]
}

const answer = (res: Response, text: PageText): void => {
  res.set(PAGE_HEADERS).type('html').send(unsubscribePage(text))
}

// Whoever a link was forwarded to need not learn the address.
const masked = (address: string): string => address.replace(/^(.).*(?=@)/u, '$1***')
