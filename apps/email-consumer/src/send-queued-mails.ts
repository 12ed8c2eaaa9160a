import type { Log } from '@waymark/contracts/log'
import { composeMail, type MailMessage } from './compose-mail.ts'
import { LeaseLostError } from './delivery-queue-queries.ts'
import type { MailTransport } from './transport.ts'

const MAX_ATTEMPTS = 5

/** A queued email that this process claimed for an attempt. */
type ClaimedMail = {
  id: string
  recipient: string
  /** Attempts so far, with this one. */
  attempts: number
  message: MailMessage
  /** Makes it an email with one-click unsubscribe. */
  unsubscribeUrl?: string
  /**
   * Called before the email can be delivered, so that it is not sent again when its outcome is never known.
   * @throws LeaseLostError when it may not be sent any more
   */
  begin?: () => Promise<void>
  /** Called when the mail server refused the email for now. */
  putOff?: () => Promise<void>
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
      const { id, recipient, attempts, message, unsubscribeUrl, begin = async () => {}, finish } = claimed
      const mail = await composeMail({
        id,
        from,
        to: recipient,
        message,
        ...(unsubscribeUrl !== undefined && { unsubscribeUrl }),
      })
      const outcome = await transport.send(mail, begin).catch((error) => {
        if (error instanceof LeaseLostError) return undefined
        throw error
      })
      if (!outcome) continue
      const reason = outcome.kind === 'refused' ? outcome.reason : null
      if (outcome.kind === 'refused' && !outcome.permanent && attempts < MAX_ATTEMPTS) {
        log.warn({ mailId: id, subject: message.subject, reason }, 'Queued email failed; retrying later')
        await claimed.putOff?.()
        continue
      }
      if (reason !== null)
        log.warn({ mailId: id, subject: message.subject, reason }, 'Queued email could not be sent')
      // An unknown outcome counts as sent: the user can request another email.
      await finish(reason)
    }
  }
