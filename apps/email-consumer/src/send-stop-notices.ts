import type { Log } from '@waymark/contracts/log'
import type { Pool } from 'pg'
import { createSendQueuedMails } from './send-queued-mails.ts'
import { claimStopNotice, finishStopNotice, type StopNotice } from './stop-notice-queries.ts'
import type { MailTransport } from './transport.ts'

type Deps = { pool: Pool; transport: MailTransport; from: string; publicUrl: string; log: Log }

/** Emails that guards stopped decisions, until none is due or `signal` aborts. */
export const createSendStopNotices = ({ pool, transport, from, publicUrl, log }: Deps) =>
  createSendQueuedMails({ transport, from, log }, async () => {
    const claimed = await claimStopNotice(pool)
    if (!claimed) return undefined
    const { id, recipient, project, decisionKey, attempts } = claimed
    return {
      id,
      recipient,
      attempts,
      message: {
        subject: `A guard stopped ${decisionKey} of ${project}`,
        text: textOf(claimed, publicUrl),
      },
      finish: () => finishStopNotice(pool, id, attempts),
    }
  })

const textOf = ({ projectId, decisionKey, project, evidence }: StopNotice, publicUrl: string): string => {
  const { environment, ruleId, metric, worseThan, at, variant, control, people, value, lift, interval } =
    evidence
  const range = interval === null ? '' : `, between ${percent(interval[0])} and ${percent(interval[1])}`
  const change = lift === null ? 'It is 0 with the control' : `The change is ${percent(lift)}${range}`
  return `At ${at} a guard of the decision ${decisionKey} of the project ${project}
found the metric ${metric} more than ${worseThan} % worse.

Environment: ${environment}
Rule: ${ruleId}
${variant}: ${value.variant} per person, ${people.variant} people
${control}: ${value.control} per person, ${people.control} people
${change}.

${whatHappened(evidence)}

To look at it, and to resume it with a reason, open

${publicUrl}/console/p/${projectId}/decisions/${encodeURIComponent(decisionKey)}
`
}

const whatHappened = ({ action, percentage }: StopNotice['evidence']): string => {
  if (action === 'pause') return 'The decision was turned off there: everyone gets the fallback variant.'
  if (action === 'rollback') return 'The rule gives its variants to nobody any more.'
  return `The ramp stays at ${percentage} % of people.`
}

const percent = (part: number): string => `${part > 0 ? '+' : ''}${(part * 100).toFixed(1)} %`
