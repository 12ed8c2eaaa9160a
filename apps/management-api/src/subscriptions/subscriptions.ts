import {
  createSubscription,
  DEFAULT_SUBSCRIPTION_HOUR,
  deleteSubscription,
  getSubscription,
  listSubscriptions,
  resubscribe,
  testSubscription,
  updateSubscription,
} from '@waymark/contracts/http/subscriptions'
import type { Prisma } from '@waymark/database'
import { newestReportPeriod, type ReportSchedule } from '@waymark/event-store'
import type { Route } from '@waymark/service-kit'
import { v7 as uuidv7 } from 'uuid'
import { readTimeZone } from '../analytics/time-range.ts'
import { pageOf } from '../http/page.ts'
import type { Actor } from '../http/project-route.ts'
import { requireFound, requireId, unprocessable } from '../http/validation.ts'
import type { ManagementDeps } from '../management-deps.ts'
import { lockQuota, requireWithinQuota } from '../quotas.ts'
import { lockSubscription, scheduleOf, versionOf, viewOf, withLast } from './subscription-rows.ts'

/** Dashboards that members get by email. */
export const subscriptionRoutes = ({ projectRoute, db, clock, quotas }: ManagementDeps): Route[] => {
  const read = async (client: Prisma.TransactionClient, projectId: string, id: string) =>
    requireFound(
      await client.subscription.findFirst({
        where: { id: requireId(id), projectId },
        include: withLast,
      }),
    )

  return [
    projectRoute(createSubscription, async ({ projectId, body }) => {
      const { name, dashboardId, frequency, hour = DEFAULT_SUBSCRIPTION_HOUR } = body
      const { emailRoles = [], userIds = [] } = body
      const timeZone = readTimeZone(body.timeZone)
      requireSomeone({ emailRoles, userIds })
      const created = await db.prisma.$transaction(async (tx) => {
        await lockQuota(tx, projectId, 'subscriptions')
        const count = await tx.subscription.count({ where: { projectId } })
        requireWithinQuota(quotas, 'subscriptions', count + 1)
        await requireDashboard(tx, projectId, dashboardId)
        await requireMembers(tx, projectId, userIds)
        const { id } = await tx.subscription.create({
          data: {
            id: uuidv7(),
            projectId,
            name,
            dashboardId,
            frequency,
            hour,
            timeZone,
            emailRoles,
            userIds,
            ...startOf({ interval: frequency, timeZone, hour }, clock()),
          },
        })
        return read(tx, projectId, id)
      })
      return { status: 201, body: viewOf(created), version: versionOf(created) }
    }),

    projectRoute(listSubscriptions, async ({ projectId, query }) => ({
      body: await pageOf(
        query,
        (page) => db.prisma.subscription.findMany({ ...page({ projectId }), include: withLast }),
        viewOf,
      ),
    })),

    projectRoute(getSubscription, async ({ projectId, id }) => {
      const found = await read(db.prisma, projectId, id)
      return { body: viewOf(found), version: versionOf(found) }
    }),

    projectRoute(updateSubscription, async ({ projectId, id, requireMatch, body }) => {
      const { timeZone, ...rest } = body
      const updated = await db.prisma.$transaction(async (tx) => {
        const found = await lockSubscription(tx, projectId, id)
        requireMatch(versionOf(found))
        const changed = {
          ...found,
          ...rest,
          ...(timeZone !== undefined && { timeZone: readTimeZone(timeZone) }),
        }
        requireSomeone(changed)
        if (rest.dashboardId !== undefined) await requireDashboard(tx, projectId, rest.dashboardId)
        // Members who have left since may stay in the list.
        const isKept = new Set(found.userIds)
        await requireMembers(tx, projectId, rest.userIds ?? [], isKept)
        const now = clock()
        const { sentUntil, dueAt } = startOf(scheduleOf(changed), now)
        await tx.subscription.update({
          where: { id },
          data: {
            ...rest,
            timeZone: changed.timeZone,
            // A period that was sent is not sent again at another hour.
            sentUntil: new Date(Math.max(sentUntil.getTime(), found.sentUntil.getTime())),
            dueAt,
            attempts: 0,
            problem: null,
            version: { increment: 1 },
            updatedAt: new Date(now),
          },
        })
        return read(tx, projectId, id)
      })
      return { body: viewOf(updated), version: versionOf(updated) }
    }),

    projectRoute(deleteSubscription, async ({ projectId, id, requireMatch }) => {
      await db.prisma.$transaction(async (tx) => {
        requireMatch(versionOf(await lockSubscription(tx, projectId, id)))
        await tx.subscription.delete({ where: { id } })
      })
      return { status: 204 }
    }),

    projectRoute(testSubscription, async ({ projectId, id, actor }) => {
      await db.prisma.$transaction(async (tx) => {
        await lockSubscription(tx, projectId, id)
        const now = new Date(clock())
        await setRecipient(tx, { projectId, id }, actor, { requestedAt: now })
        await tx.subscription.update({ where: { id }, data: { dueAt: now } })
      })
      return { status: 202 }
    }),

    projectRoute(resubscribe, async ({ projectId, id, actor }) => {
      const updated = await db.prisma.$transaction(async (tx) => {
        await lockSubscription(tx, projectId, id)
        await setRecipient(tx, { projectId, id }, actor, { unsubscribedAt: null })
        return read(tx, projectId, id)
      })
      return { body: viewOf(updated), version: versionOf(updated) }
    }),
  ]
}

/** A subscription begins with the period that ends next, so that nobody gets an email about the past. */
const startOf = (schedule: ReportSchedule, now: number): { sentUntil: Date; dueAt: Date } => {
  const { to, nextDueAt } = newestReportPeriod(schedule, now)
  return { sentUntil: new Date(to), dueAt: new Date(nextDueAt) }
}

const setRecipient = async (
  tx: Prisma.TransactionClient,
  { projectId, id: subscriptionId }: { projectId: string; id: string },
  actor: Actor,
  set: { requestedAt: Date } | { unsubscribedAt: null },
): Promise<void> => {
  // The operations refuse keys.
  if (actor.kind !== 'user') return
  const { id: userId, email: address } = actor.session.user
  await tx.subscriptionRecipient.upsert({
    where: { subscriptionId_userId: { subscriptionId, userId } },
    create: { id: uuidv7(), subscriptionId, projectId, userId, address, ...set },
    update: set,
  })
}

const requireSomeone = ({
  emailRoles,
  userIds,
}: {
  emailRoles: readonly string[]
  userIds: readonly string[]
}): void => {
  if (emailRoles.length === 0 && userIds.length === 0)
    throw unprocessable('emailRoles', 'required', 'or userIds must name someone who gets the email', [])
}

const requireDashboard = async (
  tx: Prisma.TransactionClient,
  projectId: string,
  dashboardId: string,
): Promise<void> => {
  if (!(await tx.dashboard.findFirst({ where: { id: dashboardId, projectId }, select: { id: true } })))
    throw unprocessable(
      'dashboardId',
      'reference',
      'must be the id of a dashboard of the project',
      dashboardId,
    )
}

const requireMembers = async (
  tx: Prisma.TransactionClient,
  projectId: string,
  userIds: readonly string[],
  isKept: ReadonlySet<string> = new Set(),
): Promise<void> => {
  const members = await tx.projectMember.findMany({
    where: { projectId, userId: { in: [...userIds] } },
    select: { userId: true },
  })
  const known = new Set(members.map(({ userId }) => userId))
  const index = userIds.findIndex((id) => !known.has(id.toLowerCase()) && !isKept.has(id.toLowerCase()))
  if (index >= 0)
    throw unprocessable(
      `userIds.${index}`,
      'reference',
      'must be the id of a member of the project',
      userIds[index],
    )
}
