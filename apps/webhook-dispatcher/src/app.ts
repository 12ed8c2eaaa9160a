import { consumerGroups } from '@waymark/contracts/topics'
import { webhookDeliveryStatuses } from '@waymark/contracts/webhook'
import type { RetryPlan } from '@waymark/domain/email'
import {
  alertMessage,
  auditMessage,
  cardMovementMessage,
  decisionMessage,
  emailMessage,
  eventMessages,
  linkClickMessage,
  redemptionMessage,
} from '@waymark/domain/webhook'
import {
  type Config,
  type CorePlatform,
  drain,
  everyMs,
  type ResolveHost,
  type Scope,
  type Service,
} from '@waymark/service-kit'
import { Counter, Gauge, Histogram } from 'prom-client'
import type { webhookConfig } from './config.ts'
import { createDeliveryQueue } from './delivery-queue-queries.ts'
import { createHttpPost } from './http-post.ts'
import { createReadWebhooks } from './read-webhooks.ts'
import { createReplayDeliveries } from './replay-queries.ts'
import { createSendDeliveries } from './send-deliveries.ts'
import { createSendSlackNotices } from './send-slack-notices.ts'
import { createStoreDeliveries } from './store-deliveries.ts'

export { webhookConfig } from './config.ts'

/** How webhooks are delivered. */
export type WebhookOptions = Config<typeof webhookConfig> & {
  /** Resolves the hosts of endpoints; by default DNS. */
  resolveHost?: ResolveHost
}

const DAY_MS = 24 * 3_600_000
/** Attempts of a delivery continue for 3 days; a webhook that fails for as long is paused. */
const GIVE_UP_AFTER_MS = 3 * DAY_MS
const RETRY: RetryPlan = { firstMs: 5_000, longestMs: 3_600_000, giveUpAfterMs: GIVE_UP_AFTER_MS }
const FIRST_BLOCK_MS = 5_000
const LONGEST_BLOCK_MS = 5 * 60_000
/** Time to store the outcome of an attempt. */
const SETTLE_MS = 60_000
const SEND_INTERVAL_MS = 250
const NOTICE_INTERVAL_MS = 2_000
const RETENTION_INTERVAL_MS = 60_000
/** A replay waits this long for earlier portions. */
const REPLAY_INTERVAL_MS = 1_000
const DELETE_INTERVAL_MS = 10_000
const MEASURE_INTERVAL_MS = 15_000

/** Stores deliveries to the webhooks of projects, and sends them. */
export const createWebhookDispatcher = (
  { db, bus, clock, log, metrics }: CorePlatform,
  {
    allowPrivateAddresses,
    connectionsPerEndpoint,
    maxInFlight,
    timeoutMs,
    retentionDays,
    resolveHost,
  }: WebhookOptions,
  scope: Scope,
): Service => {
  const stored = new Counter({
    name: 'waymark_webhook_deliveries_total',
    help: 'New deliveries to webhooks',
    registers: [metrics],
  })
  const attempts = new Histogram({
    name: 'waymark_webhook_attempt_duration_seconds',
    help: 'Duration of attempts to deliver, by the resulting status of the delivery',
    labelNames: ['status'],
    buckets: [0.05, 0.2, 1, 5, 10],
    registers: [metrics],
  })
  const paused = new Counter({
    name: 'waymark_webhooks_paused_total',
    help: 'Webhooks that were paused, by reason',
    labelNames: ['reason'],
    registers: [metrics],
  })
  // From the start, because Prometheus sees no increase in the first value of a series.
  for (const reason of ['gone', 'failing']) paused.inc({ reason }, 0)
  for (const status of webhookDeliveryStatuses) attempts.zero({ status })
  const oldestDue = new Gauge({
    name: 'waymark_webhook_oldest_due_seconds',
    help: 'How long the oldest due delivery to an endpoint that works has waited',
    registers: [metrics],
  })

  const http = createHttpPost({ allowPrivateAddresses, timeoutMs, ...(resolveHost && { resolveHost }) })
  scope.onStop('webhook connections', http.close)
  const queue = createDeliveryQueue({
    db,
    connectionsPerEndpoint,
    // The deliveries to a person are claimed together and sent one after another.
    leaseMs: timeoutMs * connectionsPerEndpoint + SETTLE_MS,
    firstBlockMs: FIRST_BLOCK_MS,
    longestBlockMs: LONGEST_BLOCK_MS,
    pauseAfterMs: GIVE_UP_AFTER_MS,
  })
  const store = createStoreDeliveries({
    db,
    readWebhooks: createReadWebhooks(db.pool),
    onStored: (count) => stored.inc(count),
  })
  return {
    routes: [],
    consumers: [
      bus.subscribe({
        ...consumerGroups.webhooks,
        handle: store(eventMessages),
      }),
      bus.subscribe({
        ...consumerGroups.webhookRedemptions,
        handle: store((redemption) => [redemptionMessage(redemption)]),
      }),
      bus.subscribe({
        ...consumerGroups.webhookGiftCards,
        handle: store((movement) => [cardMovementMessage(movement)]),
      }),
      bus.subscribe({
        ...consumerGroups.webhookClicks,
        handle: store((click) => [linkClickMessage(click)]),
      }),
      bus.subscribe({
        ...consumerGroups.webhookDecisions,
        handle: store((change) => [decisionMessage(change)]),
      }),
      bus.subscribe({
        ...consumerGroups.webhookEmails,
        handle: store((email) => [emailMessage(email)]),
      }),
      bus.subscribe({
        ...consumerGroups.webhookAlerts,
        handle: store((change) => [alertMessage(change)]),
      }),
      bus.subscribe({
        ...consumerGroups.webhookAudit,
        handle: store((entry) => [auditMessage(entry)]),
      }),
    ],
    loops: [
      everyMs(
        'webhook-sender',
        SEND_INTERVAL_MS,
        createSendDeliveries({
          queue,
          post: http.post,
          maxInFlight,
          retry: RETRY,
          log,
          now: clock,
          onSettled: ({ status, durationMs }) => attempts.observe({ status }, durationMs / 1_000),
          onPaused: (reason) => paused.inc({ reason }),
        }),
      ),
      everyMs(
        'slack-notices',
        NOTICE_INTERVAL_MS,
        createSendSlackNotices({ pool: db.pool, post: http.post, log }),
      ),
      drain('webhook-replays', REPLAY_INTERVAL_MS, createReplayDeliveries({ db })),
      drain('webhook-retention', RETENTION_INTERVAL_MS, () => queue.deleteOld(retentionDays)),
      drain('webhook-deletion', DELETE_INTERVAL_MS, queue.deleteDeleted),
      everyMs('webhook-metrics', MEASURE_INTERVAL_MS, async () => {
        oldestDue.set(await queue.oldestDueSeconds())
      }),
    ],
  }
}
