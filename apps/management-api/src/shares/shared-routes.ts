import { AppError } from '@waymark/contracts/app-error'
import type { InsightKind } from '@waymark/contracts/http/insights'
import type { Access, AnswerOf, Answers, Operation } from '@waymark/contracts/http/operation'
import { getShared, measureShared, measureSharedWeb, unlockShared } from '@waymark/contracts/http/shares'
import { guardedRoute, type HttpRequest, type Reply, type Route } from '@waymark/service-kit'
import { type Parts, readParts } from '../http/request-parts.ts'
import { requireFound, requireId } from '../http/validation.ts'
import type { ManagementDeps } from '../management-deps.ts'
import type { OpenShare, ShareAccess } from './share-access.ts'
import { readSharedInsight, withoutFilters } from './shared-insights.ts'
import { readSharedWeb } from './shared-web.ts'

type Asked<B> = Parts<B, unknown> & { request: HttpRequest; share: OpenShare }

/** What secret links show to anyone. Neither a session nor a key is used, so that all see the same. */
export const sharedRoutes = ({
  db,
  clock,
  runQuery,
  shareAccess,
}: ManagementDeps & { shareAccess: ShareAccess }): Route[] => {
  const route = <B, const N extends Answers>(
    operation: Operation<B, unknown, Access, N>,
    answer: (asked: Asked<B>) => Promise<Reply<AnswerOf<N>>>,
    { needsPass = true } = {},
  ): Route =>
    guardedRoute(
      operation,
      async (request) => {
        const share = await shareAccess.find(request.params.key ?? '', request)
        if (needsPass) shareAccess.requirePass(share, request)
        return share
      },
      async (request, share, parts: Parts<B, unknown>) => answer({ ...parts, request, share }),
      { read: (request) => readParts(operation, request) },
    )

  const findInsight = async ({ projectId, dashboardId }: OpenShare, id: string) => {
    const where = { id: dashboardId ?? '', projectId, insightIds: { has: requireId(id) } }
    if (dashboardId === null || (await db.prisma.dashboard.count({ where })) === 0) throw notFound()
    return requireFound(await db.prisma.insight.findFirst({ where: { id, projectId } }))
  }

  return [
    route(getShared, async ({ share }) => ({ body: await describe(db, share) })),

    route(
      unlockShared,
      async ({ share, request, body }) => ({
        body: await shareAccess.unlock(share, body.password, request.ip),
      }),
      { needsPass: false },
    ),

    route(measureShared, async ({ share, request, key, id, body }) => {
      const { projectId } = share
      const insight = await findInsight(share, id)
      const { answer, ...period } = readSharedInsight(
        { kind: insight.kind as InsightKind, query: insight.query },
        body,
      )
      const result = await runQuery({ projectId, request, ...period, lane: 'shared' }, (queryStore) =>
        answer(queryStore, projectId),
      )
      await shareAccess.requireStillOpen(key, request)
      return { body: result }
    }),

    route(measureSharedWeb, async ({ share, request, key, body }) => {
      const { projectId, kind } = share
      if (kind !== 'web') throw notFound()
      const { answer, ...period } = readSharedWeb(body)
      const result = await runQuery({ projectId, request, ...period, lane: 'shared' }, (queryStore) =>
        answer(queryStore, projectId, clock()),
      )
      await shareAccess.requireStillOpen(key, request)
      return { body: result }
    }),
  ]
}

const notFound = (): AppError => new AppError('not_found', 'Not found')

const describe = async ({ prisma }: ManagementDeps['db'], share: OpenShare) => {
  const { projectId, kind, name, dashboardId } = share
  if (kind === 'web' || dashboardId === null) {
    const goals = await prisma.meteringSelector.findMany({ where: { projectId } })
    return {
      kind,
      name,
      insights: [],
      goals: goals.map(({ id, eventName }) => ({ selectorId: id, eventName })),
    }
  }
  const dashboard = requireFound(await prisma.dashboard.findFirst({ where: { id: dashboardId, projectId } }))
  const found = await prisma.insight.findMany({ where: { projectId, id: { in: dashboard.insightIds } } })
  return {
    kind,
    name: dashboard.name,
    insights: dashboard.insightIds.flatMap((id) =>
      found
        .filter((insight) => insight.id === id)
        .map((insight) => ({
          id,
          name: insight.name,
          kind: insight.kind as InsightKind,
          query: withoutFilters(insight.query),
        })),
    ),
    goals: [],
  }
}
