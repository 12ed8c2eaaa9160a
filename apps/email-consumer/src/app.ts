import { emailDeliveryStatuses } from '@waymark/contracts/email'
import { consumerGroups } from '@waymark/contracts/topics'
import { DEFAULT_RETRY_PLAN } from '@waymark/domain/email'
import { createAllowedSenders } from '@waymark/pipeline'
import { type CorePlatform, everyMs, type Service } from '@waymark/service-kit'
import { Router } from 'express'
import { Counter, Gauge } from 'prom-client'
import { bouncesRoute } from './bounces-route.ts'
import { createDecideDeliveries } from './decide-deliveries.ts'
import { createDeliveryQueue } from './delivery-queue-queries.ts'
import { createHourlyLimit } from './hourly-limit-queries.ts'
import { measureTransport } from './measure-transport.ts'
import { createSendAccountMails } from './send-account-mails.ts'
import { createSendAlertNotices } from './send-alert-notices.ts'
import { createSendDeliveries } from './send-deliveries.ts'
import { createSendProposalNotices } from './send-proposal-notices.ts'
import { createSendStaleNotices } from './send-stale-notices.ts'
import { createSendStopNotices } from './send-stop-notices.ts'
import { createSendSubscriptionMails } from './send-subscription-mails.ts'
import { createSendVerifications } from './send-verifications.ts'
import { createSendWebhookNotices } from './send-webhook-notices.ts'
import { senderRoutes } from './sender-routes.ts'
import type { MailTransport } from './transport.ts'
import { unsubscribeRoutes } from './unsubscribe-routes.ts'

export { mailConfig } from './config.ts'
export { createDirectoryTransport } from './directory-transport.ts'
export { createSmtpTransport } from './smtp-transport.ts'
export type { MailTransport } from './transport.ts'

/** How mail is sent, its senders and its links. */
export type MailOptions = {
  transport: MailTransport
  from: string
  /** Addresses and domains that every project may send from. */
  allowedSenders: readonly string[]
  /** Emails of a project per hour. */
  perHour: number
  publicUrl: string
  /** Sign unsubscribe links: the first one signs, all are accepted. */
  secrets: readonly string[]
  /** Messages in transfer at once. */
  connections: number
  /** How long the mail server may be silent, in ms. */
  timeoutMs: number
  /** The pause before a second attempt, in ms; it doubles from one to the next. */
  retryAfterMs: number
}

const SEND_INTERVAL_MS = 500
const QUEUED_INTERVAL_MS = 2_000
const NOTICE_INTERVAL_MS = 10_000
const SWEEP_INTERVAL_MS = 30_000
const MEASURE_INTERVAL_MS = 15_000
/** Time to store the outcome after the timeout of the mail server. */
const SETTLE_MS = 60_000

/** Sends the emails that events trigger, and receives bounces and unsubscriptions. */
export const createEmailConsumer = (platform: CorePlatform, mail: MailOptions): Service => {
  const { db, bus, clock, messages, log, metrics } = platform
  const outcomes = new Counter({
    name: 'waymark_email_outcomes_total',
    help: 'New deliveries and finished attempts, by resulting status',
    labelNames: ['status'],
    registers: [metrics],
  })
  // From the start, because Prometheus sees no increase in the first value of a series.
  for (const status of emailDeliveryStatuses) outcomes.inc({ status }, 0)
  const oldestDue = new Gauge({
    name: 'waymark_email_oldest_due_seconds',
    help: 'How long the oldest email that is due has waited',
    registers: [metrics],
  })
  const transport = measureTransport(mail.transport, metrics)
  const queue = createDeliveryQueue(db, { sendLeaseMs: mail.timeoutMs + SETTLE_MS })
  const hourlyLimit = createHourlyLimit(db.pool, { perHour: mail.perHour, now: clock })
  const publicUrl = mail.publicUrl.replace(/\/+$/, '')
  const [secret = ''] = mail.secrets
  const queued = { pool: db.pool, transport, from: mail.from, publicUrl, log }
  const sendDeliveries = createSendDeliveries({
    db,
    queue,
    hourlyLimit,
    isAllowedSender: createAllowedSenders(db.pool, mail.allowedSenders),
    transport,
    messages,
    connections: mail.connections,
    from: mail.from,
    publicUrl,
    secret,
    retry: { ...DEFAULT_RETRY_PLAN, firstMs: mail.retryAfterMs },
    log,
    now: clock,
    onSettled: ({ status }) => outcomes.inc({ status }),
  })
  return {
    router: Router(),
    routes: [
      ...unsubscribeRoutes({ db, secrets: mail.secrets }),
      ...senderRoutes(platform),
      bouncesRoute(platform),
    ],
    consumers: [
      bus.subscribe({
        ...consumerGroups.email,
        handle: createDecideDeliveries({
          ...platform,
          onDecided: (deliveries) => {
            for (const { status } of deliveries) outcomes.inc({ status })
          },
        }),
      }),
    ],
    loops: [
      everyMs('email-sender', SEND_INTERVAL_MS, sendDeliveries),
      everyMs('sender-verification', QUEUED_INTERVAL_MS, createSendVerifications(queued)),
      everyMs('account-mails', QUEUED_INTERVAL_MS, createSendAccountMails(queued)),
      everyMs('webhook-notices', NOTICE_INTERVAL_MS, createSendWebhookNotices(queued)),
      everyMs('stop-notices', NOTICE_INTERVAL_MS, createSendStopNotices(queued)),
      everyMs('alert-notices', NOTICE_INTERVAL_MS, createSendAlertNotices(queued)),
      everyMs('subscription-mails', NOTICE_INTERVAL_MS, createSendSubscriptionMails({ ...queued, secret })),
      everyMs('proposal-notices', NOTICE_INTERVAL_MS, createSendProposalNotices(queued)),
      everyMs('stale-notices', NOTICE_INTERVAL_MS, createSendStaleNotices(queued)),
      everyMs('email-unconfirmed', SWEEP_INTERVAL_MS, async () => {
        const lost = await queue.giveUpUnconfirmed()
        await hourlyLimit.forget()
        if (lost > 0)
          log.warn({ lost }, 'Emails were being sent when their process stopped; their outcome is unknown')
      }),
      everyMs('email-gauges', MEASURE_INTERVAL_MS, async () => {
        oldestDue.set(await queue.oldestDueSeconds())
      }),
    ],
  }
}
