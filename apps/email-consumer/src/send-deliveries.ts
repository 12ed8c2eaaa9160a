import { setTimeout as sleep } from 'node:timers/promises'
import type { Log } from '@waymark/contracts/log'
import type { Database } from '@waymark/database'
import { nextAttemptIn, type RetryPlan, TemplateError, unsubscribeToken } from '@waymark/domain/email'
import type { IsAllowedSender } from '@waymark/pipeline'
import type { MessageRenderer } from '@waymark/service-kit'
import { composeMail } from './compose-mail.ts'
import {
  type ClaimedDelivery,
  type DeliveryQueue,
  LeaseLostError,
  type Settlement,
} from './delivery-queue-queries.ts'
import type { HourlyLimit } from './hourly-limit-queries.ts'
import { findSuppressed, SUPPRESSED } from './suppression-queries.ts'
import type { HandOver, MailTransport, OutgoingMail } from './transport.ts'
import { readTriggers, type SendingTrigger } from './trigger-queries.ts'

type SenderOptions = {
  db: Database
  queue: DeliveryQueue
  transport: MailTransport
  messages: MessageRenderer
  /** Deliveries in progress at once. */
  connections: number
  from: string
  isAllowedSender: IsAllowedSender
  hourlyLimit: HourlyLimit
  publicUrl: string
  /** Signs unsubscribe links. */
  secret: string
  retry: RetryPlan
  log: Log
  now: () => number
  onSettled?: (settlement: Settlement) => void
}

/** Due deliveries are claimed at least this often, also while a slow one is in progress. */
const LOOK_AGAIN_MS = 500
/** How often storing an outcome is retried while the database is unavailable, over some minutes in total. */
const SETTLE_TRIES = 10

/** Sends due deliveries until there are none or `signal` aborts. Deliveries in progress are finished. */
export const createSendDeliveries = ({ queue, connections, ...options }: SenderOptions) => {
  const attempt = createAttempt({ queue, ...options })
  return async (signal: AbortSignal): Promise<void> => {
    const inFlight = new Set<Promise<void>>()
    do {
      const free = connections - inFlight.size
      const claimed = signal.aborted || free === 0 ? [] : await queue.claim(free)
      if (claimed.length > 0) {
        const triggers = await readTriggers(
          options.db.pool,
          claimed.map(({ triggerId }) => triggerId),
        )
        for (const delivery of claimed) {
          const running = attempt(delivery, triggers.get(delivery.triggerId))
            .catch((err) =>
              options.log.warn({ deliveryId: delivery.id, err }, 'Email outcome could not be stored'),
            )
            .finally(() => inFlight.delete(running))
          inFlight.add(running)
        }
      }
      if (inFlight.size === connections || claimed.length < free)
        await Promise.race([...inFlight, sleep(inFlight.size > 0 ? LOOK_AGAIN_MS : 0)])
    } while (inFlight.size > 0)
  }
}

const createAttempt = ({
  db,
  queue,
  transport,
  messages,
  from,
  isAllowedSender,
  hourlyLimit,
  publicUrl,
  secret,
  retry,
  log,
  now,
  onSettled = () => {},
}: Omit<SenderOptions, 'connections'>) => {
  const settle = async (delivery: ClaimedDelivery, settlement: Settlement): Promise<void> => {
    for (let tries = 1; ; tries++) {
      try {
        const { erased } = await queue.settle(delivery, settlement)
        if (erased) await transport.deleteCopies?.([delivery.id])
        return onSettled(settlement)
      } catch (error) {
        if (tries === SETTLE_TRIES) throw error
        await sleep(Math.min(30_000, 250 * 2 ** tries))
      }
    }
  }

  const compose = async (delivery: ClaimedDelivery, trigger: SendingTrigger): Promise<OutgoingMail> => {
    const { id, projectId, recipient, context, test } = delivery
    const unsubscribeUrl = `${publicUrl}/u/${unsubscribeToken(id, secret)}`
    const values = { ...context, project: trigger.project, unsubscribeUrl }
    const message = await messages.render(projectId, trigger, values)
    const subject = test ? `[Test] ${message.subject}` : message.subject
    return composeMail({
      id,
      from: trigger.from ?? from,
      to: recipient,
      message: { ...message, subject },
      unsubscribeUrl,
    })
  }

  const settlementOf = (delivery: ClaimedDelivery, handOver: HandOver): Settlement => {
    switch (handOver.kind) {
      case 'accepted':
        return { status: 'sent', reason: handOver.response || 'the mail server accepted it', attempted: true }
      case 'unknown':
        return { status: 'unconfirmed', reason: handOver.reason, attempted: true }
      case 'refused': {
        const age = now() - delivery.queuedAt.getTime()
        const retryInMs = handOver.permanent
          ? undefined
          : nextAttemptIn(retry, delivery.attempts + 1, age, Math.random())
        return retryInMs === undefined
          ? { status: 'failed', reason: handOver.reason, attempted: true }
          : { status: 'pending', reason: handOver.reason, retryInMs, attempted: true }
      }
    }
  }

  const handOver = async (delivery: ClaimedDelivery, trigger: SendingTrigger): Promise<HandOver> => {
    let mail: OutgoingMail
    try {
      mail = await compose(delivery, trigger)
    } catch (error) {
      if (!(error instanceof TemplateError)) throw error
      return { kind: 'refused', permanent: true, reason: `${error.field} template: ${error.message}` }
    }
    return transport.send(mail, () => queue.begin(delivery))
  }

  return async (delivery: ClaimedDelivery, trigger: SendingTrigger | undefined): Promise<void> => {
    const { projectId, recipient, test } = delivery
    if (!trigger || (trigger.status !== 'active' && !test))
      return settle(delivery, { status: 'canceled', reason: 'the trigger is not active', attempted: false })
    const addressee = { projectId, address: recipient }
    if ((await findSuppressed(db.pool, [addressee]))(addressee))
      return settle(delivery, { status: 'suppressed', reason: SUPPRESSED, attempted: false })
    if (trigger.from !== null && !(await isAllowedSender(projectId, trigger.from)))
      return settle(delivery, {
        status: 'failed',
        reason: `the sender ${trigger.from} is neither verified by the tenant nor in MAIL_ALLOWED_SENDERS`,
        attempted: false,
      })
    const retryInMs = await hourlyLimit.count(projectId)
    if (retryInMs !== undefined) {
      await hourlyLimit.putOffDue(projectId)
      return settle(delivery, {
        status: 'pending',
        reason: hourlyLimit.reason,
        retryInMs,
        attempted: false,
        restartsAge: true,
      })
    }
    const outcome = await handOver(delivery, trigger).catch((error): HandOver | undefined => {
      // Another process has claimed it and will settle it.
      if (error instanceof LeaseLostError) return undefined
      log.warn({ deliveryId: delivery.id, err: error }, 'Email could not be attempted; retrying')
      return { kind: 'refused', permanent: false, reason: 'it could not be attempted' }
    })
    if (outcome) await settle(delivery, settlementOf(delivery, outcome))
  }
}
