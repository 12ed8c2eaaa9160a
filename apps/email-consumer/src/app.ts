import { enrichedEvents } from '@waymark/contracts'
import { DEFAULT_RETRY_PLAN } from '@waymark/domain'
import type { Platform, Service } from '@waymark/service-kit'
import { Counter } from 'prom-client'
import { bouncesRoute } from './bounces-route.ts'
import { createDecideDeliveries } from './decide-deliveries.ts'
import { createSendDeliveries } from './send-deliveries.ts'
import { createTimetable } from './timetable.ts'
import type { MailTransport } from './transport.ts'
import { unsubscribeRoutes } from './unsubscribe-routes.ts'

export { mailConfig } from './config.ts'
export { createDirectoryTransport } from './directory-transport.ts'
export { createSmtpTransport } from './smtp-transport.ts'

/** How mail leaves, from whom, and where its links lead. */
export type MailOptions = {
  transport: MailTransport
  from: string
  publicUrl: string
  /** Of unsubscribe links: the first signs, all count. */
  secrets: readonly string[]
  /** Messages under way at once. */
  connections: number
  /** How long the mail server may be silent, in ms. */
  timeoutMs: number
  /** The pause before a second attempt, in ms; it doubles from one to the next. */
  retryAfterMs: number
}

const SEND_INTERVAL_MS = 500
const SWEEP_INTERVAL_MS = 30_000
/** Beyond what the server may take, the answer has to be noted. */
const SETTLE_MS = 60_000

/** Sends the email that events trigger, and hears what becomes of it. */
export const createEmailConsumer = (platform: Platform, mail: MailOptions): Service => {
  const { db, bus, clock, log, metrics } = platform
  const outcomes = new Counter({
    name: 'waymark_email_outcomes_total',
    help: 'Decisions on deliveries, and ends of attempts, by the status that followed',
    labelNames: ['status'],
    registers: [metrics],
  })
  const timetable = createTimetable(db.pool, { sendLeaseMs: mail.timeoutMs + SETTLE_MS })
  const sendDeliveries = createSendDeliveries({
    db,
    timetable,
    transport: mail.transport,
    connections: mail.connections,
    from: mail.from,
    publicUrl: mail.publicUrl.replace(/\/+$/, ''),
    secret: mail.secrets[0] ?? '',
    retry: { ...DEFAULT_RETRY_PLAN, firstMs: mail.retryAfterMs },
    log,
    now: clock,
    onSettled: ({ status }) => outcomes.inc({ status }),
  })
  return {
    routes: [...unsubscribeRoutes({ db, secrets: mail.secrets }), bouncesRoute(platform)],
    consumers: [
      bus.subscribe({
        group: 'email',
        topic: enrichedEvents,
        handle: createDecideDeliveries({
          ...platform,
          onDecided: (deliveries) => {
            for (const { status } of deliveries) outcomes.inc({ status })
          },
        }),
      }),
    ],
    loops: [
      { name: 'email-sender', everyMs: SEND_INTERVAL_MS, run: sendDeliveries },
      {
        name: 'email-unconfirmed',
        everyMs: SWEEP_INTERVAL_MS,
        run: async () => {
          const lost = await timetable.giveUpUnconfirmed()
          if (lost > 0) log.warn({ lost }, 'emails were being handed over when their process ended')
          return false
        },
      },
    ],
  }
}
