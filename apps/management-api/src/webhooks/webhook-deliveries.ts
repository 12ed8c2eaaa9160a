import { AppError } from '@waymark/contracts/app-error'
import {
  cancelWebhookReplay,
  getWebhookReplay,
  listWebhookDeliveries,
  redeliverWebhookDelivery,
  replayWebhook,
  testWebhook,
} from '@waymark/contracts/http/webhooks'
import { dateOfTime } from '@waymark/contracts/rfc3339'
import type { Prisma } from '@waymark/database'
import type { Route } from '@waymark/service-kit'
import { v7 as uuidv7 } from 'uuid'
import { pageOf } from '../http/page.ts'
import type { Actor } from '../http/project-route.ts'
import { requireAllowed } from '../http/require-allowed.ts'
import { requireFound, requireId, unprocessable } from '../http/validation.ts'
import type { ManagementDeps } from '../management-deps.ts'
import { readDeliveries } from './delivery-queries.ts'
import { queueAgain, startReplay } from './webhook-queries.ts'
import { findWebhook } from './webhooks.ts'

/** Test messages of a project per minute. */
const TESTS_PER_MINUTE = 10

type StoredReplay = Prisma.WebhookReplayGetPayload<object>
type StoredDelivery = Prisma.WebhookDeliveryGetPayload<object>

/** The deliveries of webhooks, tests of them and repetitions. */
export const webhookDeliveryRoutes = ({ projectRoute, db, clock, rateLimiter }: ManagementDeps): Route[] => {
  const find = async (projectId: string, id: string) =>
    requireFound(await findWebhook(db.prisma, projectId, id))

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
    projectRoute(listWebhookDeliveries, async ({ projectId, id, actor, query }) => {
      const { id: webhookId } = await find(projectId, id)
      const { status, topic } = query
      const filter = { webhookId, topic, status, withAudit: readsAudit(actor) }
      return {
        body: await pageOf(query, (_page, part) => readDeliveries(db, { ...filter, ...part }), deliveryView),
      }
    }),
    projectRoute(redeliverWebhookDelivery, async ({ projectId, id, actor, request }) => {
      const deliveryId = requireId(request.params.deliveryId ?? '')
      const readable = readsAudit(actor) ? {} : { topic: { not: 'audit' } }
      const where = { id: deliveryId, webhookId: requireId(id), projectId, ...readable }
      requireFound(await db.prisma.webhookDelivery.findFirst({ where }))
      await findActive(projectId, id)
      await queueAgain(db.pool, where.id, id)
      const delivery = requireFound(await db.prisma.webhookDelivery.findFirst({ where }))
      return { status: 202, body: deliveryView(delivery) }
    }),
    projectRoute(replayWebhook, async ({ projectId, id, body }) => {
      const [from, to] = [dateOfTime(body.from), dateOfTime(body.to)]
      if (from >= to) throw unprocessable('from', 'range', 'must be before to', body.from)
      await findActive(projectId, id)
      if (!(await startReplay(db.pool, id, { from, to, status: body.status ?? null })))
        throw new AppError(
          'conflict',
          'A replay of this webhook is running: wait until it ends, or cancel it',
        )
      return {
        status: 202,
        body: replayView(await db.prisma.webhookReplay.findUniqueOrThrow({ where: { webhookId: id } })),
      }
    }),
    projectRoute(getWebhookReplay, async ({ projectId, id }) => {
      const { id: webhookId } = await find(projectId, id)
      const replay = await db.prisma.webhookReplay.findUnique({ where: { webhookId } })
      return { body: { replay: replay && replayView(replay) } }
    }),
    projectRoute(cancelWebhookReplay, async ({ projectId, id, requireMatch }) => {
      const { id: webhookId } = await find(projectId, id)
      const replay = requireFound(await db.prisma.webhookReplay.findUnique({ where: { webhookId } }))
      requireMatch({ replay: replayView(replay) })
      const { count } = await db.prisma.webhookReplay.updateMany({
        where: { webhookId, state: 'running' },
        data: { state: 'canceled', finishedAt: new Date(clock()) },
      })
      requireFound(count > 0 || null)
      return { status: 204 }
    }),
    projectRoute(testWebhook, async ({ projectId, id }) => {
      const webhook = await find(projectId, id)
      await requireAllowed(rateLimiter, {
        bucket: 'webhook-test',
        key: projectId,
        limit: TESTS_PER_MINUTE,
        windowMs: 60_000,
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

/** Only admins read the audit log, also when it is delivered. */
const readsAudit = ({ scopes }: Actor): boolean => scopes.includes('manage:admin')

const replayView = ({
  fromTime,
  toTime,
  deliveryStatus,
  state,
  queued,
  reachedTime,
  createdAt,
  finishedAt,
}: StoredReplay) => ({
  from: fromTime,
  to: toTime,
  status: deliveryStatus,
  state,
  queued,
  reachedAt: reachedTime,
  createdAt,
  finishedAt,
})

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
