import type { Log } from '@waymark/contracts/log'
import { slackMessage } from '@waymark/domain/alert'
import type { Pool } from 'pg'
import { claimSlackNotice, finishSlackNotice, type SlackNotice } from './alert-notice-queries.ts'
import type { HttpPost } from './http-post.ts'

/** Attempts for half an hour: later, a message is no news. */
export const MAX_SLACK_ATTEMPTS = 6
/** Messages in flight at once, so that one endpoint that does not answer delays few others. */
const IN_FLIGHT = 8

type Deps = { pool: Pool; post: HttpPost['post']; log: Log }

/**
 * Posts messages about alerts to incoming webhooks of Slack, until none is due or `signal` aborts. The address is a secret,
 * so nothing that is logged contains it.
 */
export const createSendSlackNotices = ({ pool, post, log }: Deps) => {
  const sendOne = async ({ id, url, message, attempts }: SlackNotice): Promise<void> => {
    const outcome = await post({
      url,
      headers: { 'Content-Type': 'application/json', 'User-Agent': 'Waymark-Alerts/1' },
      body: JSON.stringify(slackMessage(message)),
    })
    const status = outcome.kind === 'answered' ? outcome.status : null
    const { alertId } = message
    const mayPass = status === null || status === 429 || status >= 500
    if (mayPass && attempts < MAX_SLACK_ATTEMPTS)
      return log.warn({ alertId, status }, 'Message of an alert to Slack failed; retrying later')
    if (status === null || status < 200 || status >= 300)
      log.warn({ alertId, status }, 'Message of an alert to Slack could not be sent')
    await finishSlackNotice(pool, id, attempts)
  }

  const sendAll = async (signal: AbortSignal): Promise<void> => {
    while (!signal.aborted) {
      const claimed = await claimSlackNotice(pool)
      if (!claimed) return
      await sendOne(claimed)
    }
  }

  return async (signal: AbortSignal): Promise<void> => {
    await Promise.all(Array.from({ length: IN_FLIGHT }, () => sendAll(signal)))
  }
}
