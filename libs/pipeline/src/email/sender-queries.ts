import { parseSender, sendersOf } from '@waymark/domain/email'
import type { Pool } from 'pg'

const FIND_VERIFIED = `
  SELECT FROM email.senders s JOIN core.projects p ON p.tenant_id = s.tenant_id
  WHERE p.id = $1 AND s.verified_at IS NOT NULL AND s.sender = ANY($2::text[]) LIMIT 1`

/** Whether a project may send emails from the mailbox `from`, such as `Shop <hello@shop.example>`. */
export type IsAllowedSender = (projectId: string, from: string) => Promise<boolean>

/**
 * Checks senders against those that the deployment allows and those that the tenant of the project has verified.
 * @throws Error when an entry of `allowedSenders` is neither an address nor a domain
 */
export const createAllowedSenders = (pool: Pool, allowedSenders: readonly string[]): IsAllowedSender => {
  const allowed = new Set(
    allowedSenders.map((text) => {
      const read = parseSender(text)
      if (!read)
        throw new Error(
          `MAIL_ALLOWED_SENDERS: ${text} is neither an address nor a domain, such as shop.example`,
        )
      return read.sender
    }),
  )
  return async (projectId, from) => {
    const senders = sendersOf(from)
    if (senders.length === 0) return false
    if (senders.some((sender) => allowed.has(sender))) return true
    const { rowCount } = await pool.query({
      name: 'find-verified-sender',
      text: FIND_VERIFIED,
      values: [projectId, senders],
    })
    return rowCount === 1
  }
}
