import type { Log } from '@waymark/contracts/log'
import type { Pool } from 'pg'
import { createSendQueuedMails } from './send-queued-mails.ts'
import { claimStaleNotice, finishStaleNotice, type StaleNotice } from './stale-notice-queries.ts'
import type { MailTransport } from './transport.ts'

type Deps = { pool: Pool; transport: MailTransport; from: string; publicUrl: string; log: Log }

/** Emails about stale decisions, until none is due or `signal` aborts. */
export const createSendStaleNotices = ({ pool, transport, from, publicUrl, log }: Deps) =>
  createSendQueuedMails({ transport, from, log }, async () => {
    const claimed = await claimStaleNotice(pool)
    if (!claimed) return undefined
    const { id, recipient, project, total, attempts } = claimed
    const many = total === 1 ? 'A decision' : `${total} decisions`
    return {
      id,
      recipient,
      attempts,
      message: { subject: `${many} of ${project} can be removed`, text: textOf(claimed, publicUrl) },
      finish: () => finishStaleNotice(pool, id, attempts),
    }
  })

const textOf = ({ projectId, project, decisions, total }: StaleNotice, publicUrl: string): string => {
  const address = `${publicUrl}/console/p/${projectId}/decisions`
  const lines = decisions.map(
    (decision) => `${decision.key}: ${reasonOf(decision)}\n${address}/${encodeURIComponent(decision.key)}\n`,
  )
  const more = total - decisions.length
  return `These decisions of the project ${project} may be removed from the code and archived:

${lines.join('\n')}${more > 0 ? `\nand ${more} more: ${address}\n` : ''}
This email comes once a week while there are any. A setting of the project turns it off.
`
}

const reasonOf = ({ reason, variant, since }: StaleNotice['decisions'][number]): string => {
  const day = since.slice(0, 10)
  switch (reason) {
    case 'not_evaluated':
      return `nobody has asked for it since ${day}.`
    case 'off':
      return `it has been off since ${day}, so that everyone gets ${variant}.`
    case 'one_variant':
      return `everyone has got ${variant} since ${day}.`
    default:
      return `it has been stale since ${day}.`
  }
}
