import type { Log } from '@waymark/contracts/log'
import { composeMail } from './compose-mail.ts'
import type { MailTransport } from './transport.ts'

const MAX_ATTEMPTS = 5

/** A queued email that this process claimed for an attempt. */
type ClaimedMail = {
  id: string
  recipient: string
  /** Attempts so far, with this one. */
  attempts: number
  message: { subject: string; text: string }
  /** Ends the attempts. `error`: why the email could not be sent; null when it was. */
  finish: (error: string | null) => Promise<void>
}

type Deps = { transport: MailTransport; from: string; log: Log }

/**
 * Sends queued emails that are not deliveries of a project, until none is due or `signal` aborts. A claim expires, after
 * which the email is due again.
 */
export const createSendQueuedMails =
  ({ transport, from, log }: Deps, claim: () => Promise<ClaimedMail | undefined>) =>
  async (signal: AbortSignal): Promise<void> => {
    while (!signal.aborted) {
      const claimed = await claim()
      if (!claimed) return
      const { id, recipient, attempts, message, finish } = claimed
      const mail = await composeMail({ id, from, to: recipient, message })
      const outcome = await transport.send(mail, async () => {})
      const reason = outcome.kind === 'refused' ? outcome.reason : null
      if (outcome.kind === 'refused' && !outcome.permanent && attempts < MAX_ATTEMPTS) {
        log.warn({ mailId: id, subject: message.subject, reason }, 'Queued email failed; retrying later')
        continue
      }
      if (reason !== null)
        log.warn({ mailId: id, subject: message.subject, reason }, 'Queued email could not be sent')
      // An unknown outcome counts as sent: the user can request another email.
      await finish(reason)
    }
  }
