import { openDatabase } from '@waymark/database'
import type { RetryPlan } from '@waymark/domain/email'
import { generateWebhookSecret } from '@waymark/domain/webhook'
import { createMemoryLog, createTestDatabase } from '@waymark/testing'
import { v7 as uuidv7 } from 'uuid'
import { createDeliveryQueue, type QueueOptions } from '../src/delivery-queue-queries.ts'
import { createHttpPost } from '../src/http-post.ts'
import { createSendDeliveries } from '../src/send-deliveries.ts'

export const DAY_MS = 24 * 3_600_000
/** Connections per endpoint of a sender that is not told otherwise. */
export const CONNECTIONS = 8
export const RETRY: RetryPlan = { firstMs: 10, longestMs: 50, giveUpAfterMs: 3 * DAY_MS }

type WebhookFields = {
  url: string
  projectId?: string
  topics?: string[]
  eventNames?: string[]
  filter?: object
  status?: string
  activatedAt?: Date
  ownerId?: string
}
export type DeliveryRow = {
  id: string
  webhook_id: string
  topic: string
  profile_id: string | null
  payload: string
  status: string
  attempts: number
  next_attempt_at: Date | null
  attempt_token: string | null
  response_status: number | null
  response_body: string | null
  error: string | null
}
type SenderOptions = Partial<QueueOptions> & {
  timeoutMs?: number
  maxInFlight?: number
  retry?: RetryPlan
  onPaused?: (reason: string) => void
}
type WebhookRow = {
  status: string
  paused_reason: string | null
  failures: number
  failing_since: Date | null
  blocked_until: Date | null
  retry_after: Date | null
  notice_due_at: Date | null
}

/** A database with a project, and helpers for webhooks and their deliveries. */
export const openHarness = async () => {
  const database = await createTestDatabase()
  const open = () =>
    openDatabase({ url: database.url, poolSize: 10, applicationName: 'test', onError: () => {} })
  const db = open()
  const tenant = await db.prisma.tenant.create({ data: { id: uuidv7(), name: 'Tenant' } })
  const newProject = async (): Promise<string> =>
    (await db.prisma.project.create({ data: { id: uuidv7(), tenantId: tenant.id, name: 'Shop' } })).id
  const projectId = await newProject()
  const cleanUps: (() => Promise<unknown>)[] = []

  return {
    db,
    url: database.url,
    open,
    projectId,
    newProject,
    newWebhook: async ({ url, ...fields }: WebhookFields): Promise<{ id: string; secret: string }> => {
      const secret = generateWebhookSecret()
      const id = uuidv7()
      const defaults = {
        projectId,
        topics: ['event'],
        eventNames: [],
        status: 'active',
        activatedAt: new Date(0),
      }
      await db.prisma.webhook.create({ data: { id, url, secret, ...defaults, ...fields } })
      return { id, secret }
    },
    /** Due deliveries, in order, to the people with these keys. */
    enqueue: async (
      webhookId: string,
      people: readonly (string | null)[],
      fields: object = {},
    ): Promise<string[]> => {
      const rows = people.map((orderingKey, n) => ({
        id: uuidv7(),
        projectId,
        webhookId,
        topic: 'event',
        messageKey: uuidv7(),
        orderingKey,
        payload: JSON.stringify({ type: 'event', data: { n, orderingKey } }),
        status: 'pending',
        nextAttemptAt: new Date(),
        ...fields,
      }))
      await db.prisma.webhookDelivery.createMany({ data: rows })
      return rows.map(({ id }) => id)
    },
    rows: async (webhookId: string): Promise<DeliveryRow[]> =>
      (
        await db.pool.query<DeliveryRow>(
          'SELECT * FROM webhook.deliveries WHERE webhook_id = $1 ORDER BY id',
          [webhookId],
        )
      ).rows,
    webhook: async (id: string): Promise<WebhookRow | undefined> =>
      (await db.pool.query<WebhookRow>('SELECT * FROM webhook.webhooks WHERE id = $1', [id])).rows[0],
    /** A sending process, with connections of its own. */
    openSender: ({
      timeoutMs = 60_000,
      maxInFlight = 1_000,
      retry = RETRY,
      onPaused = () => {},
      ...queueOptions
    }: SenderOptions = {}) => {
      const own = open()
      const http = createHttpPost({ allowPrivateAddresses: true, timeoutMs })
      cleanUps.push(http.close, () => own.close())
      const queue = createDeliveryQueue({
        db: own,
        connectionsPerEndpoint: CONNECTIONS,
        leaseMs: 60_000,
        firstBlockMs: 60_000,
        longestBlockMs: 60_000,
        pauseAfterMs: 3 * DAY_MS,
        ...queueOptions,
      })
      const run = createSendDeliveries({
        queue,
        post: http.post,
        maxInFlight,
        retry,
        log: createMemoryLog(),
        now: Date.now,
        onPaused,
      })
      return { queue, run, send: () => run(new AbortController().signal) }
    },
    /** Makes everything due and ends every lease and pause of an endpoint. */
    letTimePass: async () => {
      await db.pool.query(
        `UPDATE webhook.deliveries SET next_attempt_at = now() - interval '1 s' WHERE status = 'pending'`,
      )
      await db.pool.query('UPDATE webhook.webhooks SET blocked_until = NULL')
    },
    close: async () => {
      for (const cleanUp of cleanUps.reverse()) await cleanUp()
      await db.close()
      await database.drop()
    },
  }
}

export type Harness = Awaited<ReturnType<typeof openHarness>>
