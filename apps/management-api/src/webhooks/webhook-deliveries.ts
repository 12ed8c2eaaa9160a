import {
  dateOfTime,
  listWebhookDeliveries,
  redeliverWebhookDelivery,
  replayWebhook,
  testWebhook,
} from '@waymark/contracts'
import type { Prisma } from '@waymark/database'
import type { Route } from '@waymark/service-kit'
import { v7 as uuidv7 } from 'uuid'
import { pageOf } from '../http/page.ts'
import { requireAllowed } from '../http/require-allowed.ts'
import { requireFound, requireId, unprocessable } from '../http/validation.ts'
import type { ManagementDeps } from '../management-deps.ts'

/** Test messages of a project per minute. */
const TESTS_PER_MINUTE = 10
/** Deliveries of one replay. */
const MAX_REPLAY = 10_000

type StoredDelivery = Prisma.WebhookDeliveryGetPayload<object>

const SEND_AGAIN = `status = 'pending', attempts = 0, queued_at = now(), next_attempt_at = now(), attempt_token = NULL,
  response_status = NULL, response_body = NULL, error = NULL, duration_ms = NULL, delivered_at = NULL`
/** Whether no process is attempting it. */
const IS_AT_REST = '(attempt_token IS NULL OR next_attempt_at <= now())'

const REDELIVER = `
  UPDATE webhook.deliveries SET ${SEND_AGAIN} WHERE id = $1 AND webhook_id = $2 AND ${IS_AT_REST}`
// One row more than allowed shows that the range has too many.
const COUNT = `
  SELECT count(*)::int AS found FROM (
    SELECT FROM webhook.deliveries
    WHERE webhook_id = $1 AND created_at >= $2 AND created_at < $3 AND status = ANY($4::text[]) AND NOT test
    LIMIT ${MAX_REPLAY + 1}) AS given`
const REPLAY = `
  UPDATE webhook.deliveries SET ${SEND_AGAIN}
  WHERE webhook_id = $1 AND created_at >= $2 AND created_at < $3 AND status = ANY($4::text[]) AND NOT test`

/** The deliveries of webhooks, tests of them and repetitions. */
export const webhookDeliveryRoutes = ({ projectRoute, db, clock, rateLimiter }: ManagementDeps): Route[] => {
  const find = async (projectId: string, id: string) =>
    requireFound(await db.prisma.webhook.findFirst({ where: { id: requireId(id), projectId } }))

  const findActive = async (projectId: string, id: string) => {
    const webhook = await find(projectId, id)
    if (webhook.status !== 'active')
      throw unprocessable(
        'status',
        'active',
        'of the webhook must be active: activate it first',
        webhook.status,
      )
    return webhook
  }

  return [
    projectRoute(listWebhookDeliveries, async ({ projectId, id, query }) => {
      const { id: webhookId } = await find(projectId, id)
      const { status, topic } = query
      const filter = { webhookId, ...(status && { status }), ...(topic && { topic }) }
      return {
        body: await pageOf(query, (page) => db.prisma.webhookDelivery.findMany(page(filter)), deliveryView),
      }
    }),
    projectRoute(redeliverWebhookDelivery, async ({ projectId, id, request }) => {
      const where = { id: requireId(request.params.deliveryId ?? ''), webhookId: requireId(id), projectId }
      requireFound(await db.prisma.webhookDelivery.findFirst({ where }))
      await findActive(projectId, id)
      await db.pool.query(REDELIVER, [where.id, id])
      const delivery = requireFound(await db.prisma.webhookDelivery.findFirst({ where }))
      return { status: 202, body: deliveryView(delivery) }
    }),
    projectRoute(replayWebhook, async ({ projectId, id, body }) => {
      const [from, to] = [dateOfTime(body.from), dateOfTime(body.to)]
      if (from >= to) throw unprocessable('from', 'range', 'must be before to', body.from)
      await findActive(projectId, id)
      const values = [id, from, to, body.status ? [body.status] : ['delivered', 'failed']]
      const { rows } = await db.pool.query<{ found: number }>(COUNT, values)
      if ((rows[0]?.found ?? 0) > MAX_REPLAY)
        throw unprocessable(
          'to',
          'max_deliveries',
          `must end a range of at most ${MAX_REPLAY} deliveries: choose a shorter one`,
          body.to,
        )
      const { rowCount } = await db.pool.query(REPLAY, values)
      return { status: 202, body: { queued: rowCount ?? 0 } }
    }),
    projectRoute(testWebhook, async ({ projectId, id }) => {
      const webhook = await find(projectId, id)
      await requireAllowed(rateLimiter, {
        ...{ bucket: 'webhook-test', key: projectId, limit: TESTS_PER_MINUTE, windowMs: 60_000 },
        message: 'Too many requests',
      })
      const deliveryId = uuidv7()
      const now = new Date(clock())
      const delivery = await db.prisma.webhookDelivery.create({
        data: {
          id: deliveryId,
          projectId,
          webhookId: webhook.id,
          topic: 'test',
          messageKey: deliveryId,
          test: true,
          payload: JSON.stringify({
            type: 'test',
            timestamp: now.toISOString(),
            projectId,
            data: { webhookId: webhook.id },
          }),
          status: 'pending',
          nextAttemptAt: now,
        },
      })
      return { status: 202, body: deliveryView(delivery) }
    }),
  ]
}

const deliveryView = ({
  id,
  webhookId,
  topic,
  status,
  payload,
  attempts,
  nextAttemptAt,
  responseStatus,
  responseBody,
  error,
  durationMs,
  createdAt,
  deliveredAt,
}: StoredDelivery) => ({
  id,
  webhookId,
  topic,
  status,
  payload: JSON.parse(payload),
  attempts,
  nextAttemptAt,
  responseStatus,
  responseBody,
  error,
  durationMs,
  createdAt,
  deliveredAt,
})
