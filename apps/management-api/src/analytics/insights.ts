import { AppError } from '@waymark/contracts/app-error'
import { MAX_QUERY_BYTES } from '@waymark/contracts/http/analytics'
import { LATEST_ANALYTICS_TIME } from '@waymark/contracts/http/analytics-parts'
import {
  createInsight,
  deleteInsight,
  getInsight,
  type InsightKind,
  InsightView,
  listInsights,
  savedQueryValidators,
  updateInsight,
} from '@waymark/contracts/http/insights'
import { pick } from '@waymark/contracts/http/pick'
import { requireValid } from '@waymark/contracts/require-valid'
import { dateOfTime } from '@waymark/contracts/rfc3339'
import type { Prisma } from '@waymark/database'
import type { Route } from '@waymark/service-kit'
import { v7 as uuidv7 } from 'uuid'
import { pageOf } from '../http/page.ts'
import { below, requireFound, requireId, unfit, unprocessable } from '../http/validation.ts'
import { lockRow } from '../lock-queries.ts'
import type { ManagementDeps } from '../management-deps.ts'
import { lockQuota, requireWithinQuota } from '../quotas.ts'
import { removeFromDashboards } from './dashboard-queries.ts'
import { readFunnel } from './funnel.ts'
import { readPaths } from './paths.ts'
import { readRetention } from './retention.ts'
import { timeText } from './time-range.ts'
import { readTrends } from './trends.ts'

type Insight = Prisma.InsightGetPayload<object>

/** Saved queries. */
export const insightRoutes = ({ projectRoute, db, clock, quotas }: ManagementDeps): Route[] => {
  const find = async (projectId: string, id: string): Promise<Insight> =>
    requireFound(await db.prisma.insight.findFirst({ where: { id: requireId(id), projectId } }))

  return [
    projectRoute(createInsight, async ({ projectId, body: { name, ...given } }) => {
      const query = requireUsableQuery(given.kind, given.query)
      const insight = await db.prisma.$transaction(async (tx) => {
        await lockQuota(tx, projectId, 'insights')
        requireWithinQuota(quotas, 'insights', (await tx.insight.count({ where: { projectId } })) + 1)
        return tx.insight.create({ data: { id: uuidv7(), projectId, name, kind: given.kind, query } })
      })
      return { status: 201, body: view(insight) }
    }),
    projectRoute(listInsights, async ({ projectId, query }) => ({
      body: await pageOf(query, (page) => db.prisma.insight.findMany(page({ projectId })), view),
    })),
    projectRoute(getInsight, async ({ projectId, id }) => ({ body: view(await find(projectId, id)) })),
    projectRoute(updateInsight, async ({ projectId, id, requireMatch, body: { name, kind, query } }) => {
      const updated = await db.prisma.$transaction(async (tx) => {
        const found = await lockInsight(tx, projectId, id)
        requireMatch(view(found))
        const changesQuery = kind !== undefined || query !== undefined
        const given = { kind: kind ?? (found.kind as InsightKind), query: query ?? found.query }
        return tx.insight.update({
          where: { id },
          data: {
            ...(name !== undefined && { name }),
            ...(changesQuery && { kind: given.kind, query: requireUsableQuery(given.kind, given.query) }),
            version: { increment: 1 },
            updatedAt: new Date(clock()),
          },
        })
      })
      return { body: view(updated) }
    }),
    projectRoute(deleteInsight, async ({ projectId, id, requireMatch }) => {
      await db.prisma.$transaction(async (tx) => {
        requireMatch(view(await lockInsight(tx, projectId, id)))
        const alert = await tx.alert.findFirst({ where: { insightId: id }, select: { name: true } })
        if (alert)
          throw new AppError(
            'conflict',
            `The alert ${alert.name} watches this insight: delete the alert first`,
          )
        await tx.insight.delete({ where: { id } })
        await removeFromDashboards(tx, projectId, id, new Date(clock()))
      })
      return { status: 204 }
    }),
  ]
}

const lockInsight = async (tx: Prisma.TransactionClient, projectId: string, id: string): Promise<Insight> => {
  await lockRow(tx, 'core.insights', id)
  return requireFound(await tx.insight.findFirst({ where: { id, projectId } }))
}

const DAY_MS = 24 * 60 * 60 * 1000

/**
 * Checks a query like its endpoint, with a range of a day if it has none.
 * @throws AppError unprocessable with the invalid field below `query`
 */
const requireUsableQuery = (kind: InsightKind, query: unknown): Prisma.InputJsonObject => {
  const bytes = Buffer.byteLength(JSON.stringify(query))
  if (bytes > MAX_QUERY_BYTES)
    throw unprocessable(
      'query',
      'max_bytes',
      `must have at most ${MAX_QUERY_BYTES} bytes as JSON; got ${bytes}`,
    )
  below('query', () => readers[kind](query))
  return query as Prisma.InputJsonObject
}

const readers: Record<InsightKind, (query: unknown) => unknown> = {
  trends: (query) => readTrends(withRange(requireValid(savedQueryValidators.trends, query, unfit))),
  funnel: (query) => readFunnel(withRange(requireValid(savedQueryValidators.funnel, query, unfit))),
  retention: (query) => readRetention(withRange(requireValid(savedQueryValidators.retention, query, unfit))),
  paths: (query) => readPaths(withRange(requireValid(savedQueryValidators.paths, query, unfit))),
}

const withRange = <T extends { from?: string; to?: string }>(saved: T): T & { from: string; to: string } => {
  const end = dateOfTime(saved.to ?? saved.from ?? LATEST_ANALYTICS_TIME).getTime()
  const { from = timeText(end - DAY_MS) } = saved
  const { to = timeText(saved.from === undefined ? end : end + DAY_MS) } = saved
  return { ...saved, from, to }
}

const view = (insight: Insight) => pick(insight, InsightView)
