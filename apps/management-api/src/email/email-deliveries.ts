import {
  type EmailDeliveryStatus,
  emailDeliveryStatuses,
  listEmailDeliveries,
  retryEmailDelivery,
} from '@waymark/contracts'
import type { Database, Prisma } from '@waymark/database'
import type { Platform, Route } from '@waymark/service-kit'
import { pageOf } from '../http/page.ts'
import type { ProjectRouteFactory } from '../http/project-route.ts'
import { requireFound, requireId, unprocessable } from '../http/validation.ts'

type StoredDelivery = Prisma.EmailDeliveryGetPayload<object>
type Deps = Pick<Platform, 'db' | 'clock'> & { projectRoute: ProjectRouteFactory }

/** What became of the events that fired a trigger, and another try for what failed. */
export const emailDeliveryRoutes = ({ projectRoute, db, clock }: Deps): Route[] => [
  projectRoute(listEmailDeliveries, async ({ projectId, query }) => {
    const { triggerId, status } = query
    const filter = { projectId, ...(triggerId && { triggerId }), ...(status && { status }) }
    return {
      body: await pageOf(
        query,
        (where, take) =>
          db.prisma.emailDelivery.findMany({ where: { ...filter, ...where }, orderBy: { id: 'desc' }, take }),
        deliveryView,
      ),
    }
  }),
  projectRoute(retryEmailDelivery, async ({ projectId, id }) => {
    const where = { id: requireId(id), projectId }
    requireFound(await db.prisma.emailDelivery.findFirst({ where }))
    const now = new Date(clock())
    // Only what was certainly not delivered, to somebody who was not erased, is tried again; the condition stands in the statement, for two who ask at once.
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

/** A delivery as it is shown: without what it is filled from, and what only senders need. */
export const deliveryView = ({
  projectId: _projectId,
  eventKey: _eventKey,
  attemptToken: _attemptToken,
  context: _context,
  queuedAt: _queuedAt,
  ...delivery
}: StoredDelivery) => delivery

/** A trigger's deliveries by status, tests left out. */
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
