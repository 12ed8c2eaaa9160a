import {
  createWebhook,
  DEFAULT_WEBHOOK_OVERLAP_SECONDS,
  deleteWebhook,
  getWebhook,
  listWebhooks,
  rotateWebhookSecret,
  updateWebhook,
} from '@waymark/contracts/http/webhooks'
import { Prisma } from '@waymark/database'
import { generateWebhookSecret } from '@waymark/domain/webhook'
import type { Route } from '@waymark/service-kit'
import { v7 as uuidv7 } from 'uuid'
import { ownerFor } from '../api-keys/key-owners.ts'
import { pageOf } from '../http/page.ts'
import { requireFound, requireId, requireUsableFilter, unprocessable } from '../http/validation.ts'
import { lockRow } from '../lock-queries.ts'
import type { ManagementDeps } from '../management-deps.ts'
import { lockQuota, requireWithinQuota } from '../quotas.ts'

type StoredWebhook = Prisma.WebhookGetPayload<object>

/** A project's webhooks. A secret is shown once, in the answer that creates it. */
export const webhookRoutes = ({ projectRoute, db, clock, quotas }: ManagementDeps): Route[] => [
  projectRoute(createWebhook, async ({ projectId, actor, body }) => {
    const { url, topics, eventNames = [], filter = null, status = 'active' } = body
    requireUsable({ url, filter })
    const secret = generateWebhookSecret()
    const now = new Date(clock())
    const webhook = await db.prisma.$transaction(async (tx) => {
      const ownerId = await ownerFor(tx, projectId, actor)
      await lockQuota(tx, projectId, 'webhooks')
      requireWithinQuota(
        quotas,
        'webhooks',
        (await tx.webhook.count({ where: { projectId, deletedAt: null } })) + 1,
      )
      return tx.webhook.create({
        data: {
          id: uuidv7(),
          projectId,
          ownerId,
          url,
          topics,
          eventNames,
          filter: jsonOrNull(filter),
          status,
          activatedAt: status === 'active' ? now : null,
          secret,
        },
      })
    })
    return { status: 201, body: { ...view(webhook), secret }, version: versionOf(webhook) }
  }),
  projectRoute(listWebhooks, async ({ projectId, query }) => ({
    body: await pageOf(
      query,
      (page) => db.prisma.webhook.findMany(page({ projectId, deletedAt: null })),
      view,
    ),
  })),
  projectRoute(getWebhook, async ({ projectId, id }) =>
    reply(requireFound(await findWebhook(db.prisma, projectId, id))),
  ),
  projectRoute(updateWebhook, async ({ projectId, id, body, requireMatch, checkEffects }) => {
    const { filter, ...change } = body
    requireUsable(body)
    const now = new Date(clock())
    return db.prisma.$transaction(async (tx) => {
      const found = await lockWebhook(tx, projectId, id)
      requireMatch(versionOf(found))
      checkEffects(view(found))
      const activated = change.status === 'active' && found.status !== 'active'
      const updated = await tx.webhook.update({
        where: { id },
        data: {
          ...change,
          ...(filter !== undefined && { filter: jsonOrNull(filter) }),
          ...(change.status && { pausedReason: null, noticeDueAt: null }),
          ...(activated && { activatedAt: now }),
          // A new address or a resumed webhook is tried at once.
          ...((activated || change.url !== undefined) && {
            failures: 0,
            failingSince: null,
            blockedUntil: null,
            retryAfter: null,
          }),
          version: { increment: 1 },
          updatedAt: now,
        },
      })
      return reply(updated)
    })
  }),
  projectRoute(deleteWebhook, async ({ projectId, id, requireMatch }) => {
    await db.prisma.$transaction(async (tx) => {
      requireMatch(versionOf(await lockWebhook(tx, projectId, id)))
      // The dispatcher deletes the row after its deliveries, of which there may be millions.
      await tx.webhook.update({
        where: { id },
        data: { deletedAt: new Date(clock()), status: 'paused', noticeDueAt: null },
      })
    })
    return { status: 204 }
  }),
  projectRoute(rotateWebhookSecret, async ({ projectId, id, body }) => {
    const { overlapSeconds = DEFAULT_WEBHOOK_OVERLAP_SECONDS } = body
    const secret = generateWebhookSecret()
    const now = clock()
    const webhook = await db.prisma.$transaction(async (tx) => {
      const found = await lockWebhook(tx, projectId, id)
      return tx.webhook.update({
        where: { id },
        data: {
          secret,
          previousSecret: overlapSeconds > 0 ? found.secret : null,
          previousSecretExpiresAt: overlapSeconds > 0 ? new Date(now + overlapSeconds * 1_000) : null,
          version: { increment: 1 },
          updatedAt: new Date(now),
        },
      })
    })
    return { body: { ...view(webhook), secret }, version: versionOf(webhook) }
  }),
]

/** A webhook of the project that is not deleted, or null. @throws AppError not_found when `id` is no UUID */
export const findWebhook = (
  { webhook }: Pick<Prisma.TransactionClient, 'webhook'>,
  projectId: string,
  id: string,
): Promise<StoredWebhook | null> =>
  webhook.findFirst({ where: { id: requireId(id), projectId, deletedAt: null } })

/** Reads a webhook and locks it until the transaction ends. */
const lockWebhook = async (
  tx: Prisma.TransactionClient,
  projectId: string,
  id: string,
): Promise<StoredWebhook> => {
  await lockRow(tx, 'webhook.webhooks', id)
  return requireFound(await findWebhook(tx, projectId, id))
}

const requireUsable = ({ url, filter }: { url?: string; filter?: unknown }): void => {
  if (url !== undefined && !isUsableUrl(url))
    throw unprocessable(
      'url',
      'format',
      'must be an http or https URL without user, password or fragment',
      url,
    )
  if (filter !== undefined && filter !== null) requireUsableFilter(filter)
}

/** Whether an address can be posted to. Where it leads is checked when it is used. */
export const isUsableUrl = (text: string): boolean => {
  const url = URL.parse(text)
  return url !== null && /^https?:$/.test(url.protocol) && url.username === '' && url.password === ''
}

const jsonOrNull = (filter: unknown) => (filter === null ? Prisma.DbNull : (filter as Prisma.InputJsonValue))

const view = ({
  id,
  url,
  topics,
  eventNames,
  filter,
  status,
  pausedReason,
  failingSince,
  previousSecretExpiresAt,
  version,
  createdAt,
  updatedAt,
}: StoredWebhook) => ({
  id,
  url,
  topics,
  eventNames,
  filter,
  status,
  pausedReason,
  failingSince,
  previousSecretExpiresAt,
  version,
  createdAt,
  updatedAt,
})

/** What the `ETag` is made of: attempts to deliver are not a change. */
const versionOf = (webhook: StoredWebhook) => ({ ...view(webhook), failingSince: null })

const reply = (webhook: StoredWebhook) => ({ body: view(webhook), version: versionOf(webhook) })
