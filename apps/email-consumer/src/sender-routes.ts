import { AppError, showEmailSender, verifyEmailSender } from '@waymark/contracts'
import type { Database } from '@waymark/database'
import { hashToken } from '@waymark/domain'
import { type HttpRequest, type Route, route } from '@waymark/service-kit'
import { pageReply } from './page-reply.ts'

type Asked = { sender: string; tenant: string }

const OPEN = 'token_hash = $1 AND token_expires_at > now() AND verified_at IS NULL'
const FIND = `
  SELECT s.sender, t.name AS tenant FROM email.senders s JOIN core.tenants t ON t.id = s.tenant_id WHERE ${OPEN}`
const VERIFY = `
  UPDATE email.senders s SET verified_at = now(), token_hash = NULL, token_expires_at = NULL, mail_due_at = NULL
  FROM core.tenants t WHERE t.id = s.tenant_id AND ${OPEN} RETURNING s.sender, t.name AS tenant`

/** The link that verifies a sender: a confirmation page, and the request that confirms. */
export const senderRoutes = ({ db }: { db: Database }): Route[] => {
  const run = async (query: string, { params }: HttpRequest): Promise<Asked> => {
    const hash = hashToken(params.token ?? '')
    const { rows } = hash ? await db.pool.query<Asked>(query, [hash]) : { rows: [] }
    const [asked] = rows
    if (!asked) throw new AppError('not_found', 'The link is not valid, was already used or has expired')
    return asked
  }
  return [
    route(showEmailSender, async (request) => {
      const { sender, tenant } = await run(FIND, request)
      return pageReply({
        title: 'Confirm a sender',
        text: `May ${tenant} send emails from ${sender}?`,
        action: 'Allow',
      })
    }),
    route(verifyEmailSender, async (request) => {
      const { sender, tenant } = await run(VERIFY, request)
      return pageReply({ title: 'Sender confirmed', text: `${tenant} may send emails from ${sender}.` })
    }),
  ]
}
