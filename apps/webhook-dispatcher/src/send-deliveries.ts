import { setTimeout as sleep } from 'node:timers/promises'
import type { Log } from '@waymark/contracts/log'
import { nextAttemptIn, type RetryPlan } from '@waymark/domain/email'
import { Webhook } from 'standardwebhooks'
import type { ClaimedDelivery, DeliveryQueue, Settlement } from './delivery-queue-queries.ts'
import type { HttpPost, PostOutcome } from './http-post.ts'
import { retryAfterMs } from './retry-after.ts'

export type SenderOptions = {
  queue: Pick<DeliveryQueue, 'claim' | 'isCurrent' | 'settle' | 'release'>
  post: HttpPost['post']
  /** Deliveries in flight at once. */
  maxInFlight: number
  retry: RetryPlan
  log: Log
  now: () => number
  onSettled?: (settlement: Settlement) => void
  onPaused?: (reason: string) => void
}

/** Due deliveries are claimed at least this often, also while others are in flight. */
const LOOK_AGAIN_MS = 200
const GONE = 410
/** Too many requests, and unavailable: the endpoint may say when to call again. */
const BUSY = [429, 503]
/** How often storing an outcome is retried while the database is unavailable. The lease ends after that. */
const SETTLE_TRIES = 5

/**
 * Sends due deliveries until there are none or `signal` aborts. Requests in flight are finished. The deliveries to a
 * person are sent one after another.
 */
export const createSendDeliveries = ({ queue, maxInFlight, log, ...options }: SenderOptions) => {
  const attempt = createAttempt({ queue, log, ...options })

  return async (signal: AbortSignal): Promise<void> => {
    const inFlight = new Map<string, number>()
    const running = new Set<Promise<void>>()
    let total = 0
    let ended = false
    let wake = (): void => {}
    const count = (webhookId: string, change: number): void => {
      total += change
      const deliveries = (inFlight.get(webhookId) ?? 0) + change
      if (deliveries > 0) inFlight.set(webhookId, deliveries)
      else inFlight.delete(webhookId)
    }

    const sendInOrder = async (deliveries: readonly ClaimedDelivery[]): Promise<void> => {
      let rest = [...deliveries]
      try {
        while (rest.length > 0 && !signal.aborted) {
          const [delivery] = rest
          if (!delivery) break
          // Those before it may have taken a minute.
          if (delivery !== deliveries[0] && !(await queue.isCurrent(delivery))) break
          rest = rest.slice(1)
          const delivered = await attempt(delivery)
          count(delivery.webhookId, -1)
          // The endpoint may be blocked or paused now.
          if (!delivered) break
        }
        if (rest.length > 0) await queue.release(rest)
      } catch (err) {
        log.warn({ err }, 'Webhook deliveries could not be released; they are sent when their lease ends')
      }
      for (const { webhookId } of rest) count(webhookId, -1)
    }

    try {
      for (;;) {
        ended = false
        const free = maxInFlight - total
        const claimed = signal.aborted || free === 0 ? [] : await queue.claim(inFlight, free)
        for (const deliveries of inOrder(claimed)) {
          for (const { webhookId } of deliveries) count(webhookId, 1)
          const task = sendInOrder(deliveries).finally(() => {
            running.delete(task)
            ended = true
            wake()
          })
          running.add(task)
        }
        // What ended during the claim has made room for more.
        if (claimed.length > 0 || ended) continue
        if (running.size === 0) return
        const woken = new Promise<void>((resolve) => {
          wake = resolve
        })
        await Promise.race([woken, sleep(LOOK_AGAIN_MS)])
      }
    } finally {
      // The next run counts from zero, so no delivery of this one may be in flight.
      await Promise.allSettled(running)
    }
  }
}

/** Groups the deliveries of one person to one webhook. Others are groups of their own. */
const inOrder = (deliveries: readonly ClaimedDelivery[]): ClaimedDelivery[][] => [
  ...Map.groupBy(
    deliveries,
    ({ id, webhookId, orderingKey }) => `${webhookId}/${orderingKey ?? id}`,
  ).values(),
]

const createAttempt = ({
  queue,
  post,
  retry,
  log,
  now,
  onSettled = () => {},
  onPaused = () => {},
}: Omit<SenderOptions, 'maxInFlight'>) => {
  const settle = async (delivery: ClaimedDelivery, settlement: Settlement): Promise<void> => {
    for (let tries = 1; ; tries++) {
      try {
        const paused = await queue.settle(delivery, settlement)
        onSettled(settlement)
        if (paused === undefined) return
        log.warn({ webhookId: delivery.webhookId, reason: paused }, 'Webhook was paused')
        return onPaused(paused)
      } catch (error) {
        if (tries === SETTLE_TRIES) throw error
        await sleep(250 * 2 ** tries)
      }
    }
  }

  const settlementOf = (
    { test, attempts, queuedAt }: ClaimedDelivery,
    outcome: PostOutcome,
    durationMs: number,
  ): Settlement => {
    const status = outcome.kind === 'answered' ? outcome.status : null
    const common = {
      responseStatus: status,
      responseBody: outcome.kind === 'answered' ? outcome.body : null,
      error: errorOf(outcome),
      durationMs,
      gone: status === GONE,
      waitMs: Math.min(retry.longestMs, waitOf(outcome, now())),
    }
    if (common.error === null) return { ...common, status: 'delivered' }
    const age = now() - queuedAt.getTime()
    const retryInMs = test ? undefined : nextAttemptIn(retry, attempts + 1, age, Math.random())
    return retryInMs === undefined
      ? { ...common, status: 'failed' }
      : { ...common, status: 'pending', retryInMs: Math.max(retryInMs, common.waitMs) }
  }

  /** Resolves to whether the endpoint accepted the delivery. Never rejects. */
  return async (delivery: ClaimedDelivery): Promise<boolean> => {
    const startedAt = performance.now()
    const outcome = await post({
      url: delivery.url,
      headers: headersOf(delivery, new Date(now())),
      body: delivery.payload,
    })
    const settlement = settlementOf(delivery, outcome, Math.round(performance.now() - startedAt))
    try {
      await settle(delivery, settlement)
    } catch (err) {
      log.warn(
        { deliveryId: delivery.id, err },
        'Webhook outcome could not be stored; the delivery is repeated',
      )
    }
    return settlement.status === 'delivered'
  }
}

/** How long the endpoint asks not to be called, in ms. */
const waitOf = (outcome: PostOutcome, now: number): number =>
  outcome.kind === 'answered' && BUSY.includes(outcome.status) ? retryAfterMs(outcome.retryAfter, now) : 0

/** Why an attempt failed; null when it did not. */
const errorOf = (outcome: PostOutcome): string | null => {
  if (outcome.kind === 'unanswered') return outcome.error
  const { status } = outcome
  if (status >= 200 && status < 300) return null
  return status >= 300 && status < 400 ? 'redirects are not followed' : `the endpoint answered ${status}`
}

/** The headers of Standard Webhooks. During a rotation there is a signature by each secret. */
const headersOf = ({ id, payload, secrets }: ClaimedDelivery, sentAt: Date): Record<string, string> => ({
  'Content-Type': 'application/json',
  'User-Agent': 'Waymark-Webhooks/1',
  'webhook-id': id,
  'webhook-timestamp': `${Math.floor(sentAt.getTime() / 1_000)}`,
  'webhook-signature': secrets.map((secret) => new Webhook(secret).sign(id, sentAt, payload)).join(' '),
})
