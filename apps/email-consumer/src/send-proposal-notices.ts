import type { Log } from '@waymark/contracts/log'
import type { Pool } from 'pg'
import { claimProposalNotice, finishProposalNotice, type ProposalNotice } from './proposal-notice-queries.ts'
import { createSendQueuedMails } from './send-queued-mails.ts'
import type { MailTransport } from './transport.ts'

type Deps = { pool: Pool; transport: MailTransport; from: string; publicUrl: string; log: Log }

/** Emails about proposed changes of decisions, until none is due or `signal` aborts. */
export const createSendProposalNotices = ({ pool, transport, from, publicUrl, log }: Deps) =>
  createSendQueuedMails({ transport, from, log }, async () => {
    const claimed = await claimProposalNotice(pool)
    if (!claimed) return undefined
    const { id, recipient, attempts } = claimed
    return {
      id,
      recipient,
      attempts,
      message: { subject: subjectOf(claimed), text: textOf(claimed, publicUrl) },
      finish: () => finishProposalNotice(pool, id, attempts),
    }
  })

const subjectOf = ({ kind, decisionKey, project }: ProposalNotice): string => {
  const what = `of ${decisionKey} of ${project}`
  if (kind === 'proposed') return `Please review a change ${what}`
  if (kind === 'bypassed') return `A change ${what} was made WITHOUT its approvals`
  return `Your proposed change ${what}: ${kind}`
}

const textOf = (notice: ProposalNotice, publicUrl: string): string => {
  const { projectId, proposalId, decisionKey, project, comment } = notice
  const said = comment === null ? '' : `\n${comment}\n`
  return `${whatHappened(notice)}

Decision: ${decisionKey}
Project: ${project}
Proposal: ${proposalId}
${said}
To look at it, open

${publicUrl}/console/p/${projectId}/decisions/${encodeURIComponent(decisionKey)}
`
}

const whatHappened = ({ kind, actor }: ProposalNotice): string => {
  switch (kind) {
    case 'proposed':
      return `${actor} proposes a change of a decision, which you may approve or reject.`
    case 'bypassed':
      return `${actor} has made a change of a decision without its approvals, for the reason below.`
    case 'rejected':
      return `${actor} has rejected the change that you proposed.`
    case 'applied':
      return 'The change that you proposed has its approvals and is applied.'
    case 'failed':
      return 'The change that you proposed could not be applied.'
    default:
      return `The change that you proposed: ${kind}.`
  }
}
