import {
  createDashboard,
  DashboardView,
  deleteDashboard,
  getDashboard,
  listDashboards,
  updateDashboard,
} from '@waymark/contracts/http/insights'
import { pick } from '@waymark/contracts/http/pick'
import type { Prisma } from '@waymark/database'
import type { Route } from '@waymark/service-kit'
import { v7 as uuidv7 } from 'uuid'
import { pageOf } from '../http/page.ts'
import { requireFound, requireId, unprocessable } from '../http/validation.ts'
import { lockRow } from '../lock-queries.ts'
import type { ManagementDeps } from '../management-deps.ts'
import { lockQuota, requireWithinQuota } from '../quotas.ts'
import { lockInsights } from './dashboard-queries.ts'

type Dashboard = Prisma.DashboardGetPayload<object>

/** Dashboards of insights. */
export const dashboardRoutes = ({ projectRoute, db, clock, quotas }: ManagementDeps): Route[] => [
  projectRoute(createDashboard, async ({ projectId, body }) => {
    const dashboard = await db.prisma.$transaction(async (tx) => {
      await lockQuota(tx, projectId, 'dashboards')
      requireWithinQuota(quotas, 'dashboards', (await tx.dashboard.count({ where: { projectId } })) + 1)
      await requireInsights(tx, projectId, body.insightIds)
      return tx.dashboard.create({ data: { id: uuidv7(), projectId, ...body } })
    })
    return { status: 201, body: view(dashboard) }
  }),
  projectRoute(listDashboards, async ({ projectId, query }) => ({
    body: await pageOf(query, (page) => db.prisma.dashboard.findMany(page({ projectId })), view),
  })),
  projectRoute(getDashboard, async ({ projectId, id }) => {
    const where = { id: requireId(id), projectId }
    return { body: view(requireFound(await db.prisma.dashboard.findFirst({ where }))) }
  }),
  projectRoute(updateDashboard, async ({ projectId, id, requireMatch, body }) => {
    const updated = await db.prisma.$transaction(async (tx) => {
      requireFound(await tx.dashboard.findFirst({ where: { id: requireId(id), projectId } }))
      // Insights are locked first, in the same order as by their deletion.
      if (body.insightIds !== undefined) await requireInsights(tx, projectId, body.insightIds)
      requireMatch(view(await lockDashboard(tx, projectId, id)))
      const data = { ...body, version: { increment: 1 }, updatedAt: new Date(clock()) }
      return tx.dashboard.update({ where: { id }, data })
    })
    return { body: view(updated) }
  }),
  projectRoute(deleteDashboard, async ({ projectId, id, requireMatch }) => {
    await db.prisma.$transaction(async (tx) => {
      requireMatch(view(await lockDashboard(tx, projectId, id)))
      await tx.dashboard.delete({ where: { id } })
    })
    return { status: 204 }
  }),
]

const lockDashboard = async (
  tx: Prisma.TransactionClient,
  projectId: string,
  id: string,
): Promise<Dashboard> => {
  await lockRow(tx, 'core.dashboards', id)
  return requireFound(await tx.dashboard.findFirst({ where: { id, projectId } }))
}

/**
 * Locks the insights until the transaction ends. @throws AppError unprocessable when one does not exist in the project
 */
const requireInsights = async (
  tx: Prisma.TransactionClient,
  projectId: string,
  ids: readonly string[],
): Promise<void> => {
  const known = new Set(await lockInsights(tx, projectId, ids))
  const index = ids.findIndex((id) => !known.has(id.toLowerCase()))
  if (index >= 0)
    throw unprocessable(
      `insightIds.${index}`,
      'reference',
      'must be the id of an insight of the project',
      ids[index],
    )
}

const view = (dashboard: Dashboard) => pick(dashboard, DashboardView)
