import { type EmailDeliveryStatus, emailDeliveryStatuses } from '@waymark/contracts/email'
import {
  EmailDeliveryView,
  listEmailDeliveries,
  retryEmailDelivery,
} from '@waymark/contracts/http/email-deliveries'
import { pick } from '@waymark/contracts/http/pick'
import type { Database, Prisma } from '@waymark/database'
import type { Route } from '@waymark/service-kit'
import { pageOf } from '../http/page.ts'
import { requireFound, requireId, unprocessable } from '../http/validation.ts'
import type { ManagementDeps } from '../management-deps.ts'

type StoredDelivery = Prisma.EmailDeliveryGetPayload<object>

/** The deliveries of triggers, and retries of failed ones. */
export const emailDeliveryRoutes = ({ projectRoute, db, clock }: ManagementDeps): Route[] => [
  projectRoute(listEmailDeliveries, async ({ projectId, query }) => {
    const { triggerId, status } = query
    const filter = { projectId, ...(triggerId && { triggerId }), ...(status && { status }) }
    return {
      body: await pageOf(
        query,
        (page) => db.prisma.emailDelivery.findMany(page({ ...filter })),
        deliveryView,
      ),
    }
  }),
  projectRoute(retryEmailDelivery, async ({ projectId, id }) => {
    const where = { id: requireId(id), projectId }
    requireFound(await db.prisma.emailDelivery.findFirst({ where }))
    const now = new Date(clock())
    // `failed` means certainly not delivered. The statement checks it, so that concurrent retries send once.
    const { count } = await db.prisma.emailDelivery.updateMany({
      where: { ...where, status: 'failed', recipient: { not: null } },
      data: { status: 'pending', reason: null, attempts: 0, queuedAt: now, nextAttemptAt: now },
    })
    if (count === 0)
      throw unprocessable('status', 'failed', 'must be failed: only failed deliveries can be retried')
    const delivery = requireFound(await db.prisma.emailDelivery.findFirst({ where }))
    return { status: 202, body: deliveryView(delivery) }
  }),
]

/** A delivery as shown, without the context of its templates and internal columns. */
export const deliveryView = (delivery: StoredDelivery) => pick(delivery, EmailDeliveryView)

/** The number of a trigger's deliveries by status, without tests. */
export const countDeliveries = async (
  db: Database,
  triggerId: string,
): Promise<Record<EmailDeliveryStatus, number>> => {
  const found = await db.prisma.emailDelivery.groupBy({
    by: ['status'],
    where: { triggerId, test: false },
    _count: true,
  })
  const counts = Object.fromEntries(emailDeliveryStatuses.map((status) => [status, 0]))
  for (const { status, _count } of found) counts[status] = _count
  return counts as Record<EmailDeliveryStatus, number>
}
