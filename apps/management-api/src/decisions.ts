import {
  activateDecision,
  archiveDecision,
  createDecision,
  type DecisionDefinition,
  type DecisionStatus,
  getDecision,
  getDecisionHistory,
  listDecisions,
  pauseDecision,
  replaceDecision,
  rollbackDecision,
  updateDecision,
} from '@waymark/contracts'
import type { Platform, Route } from '@waymark/service-kit'
import { addDecision, type ChangedDecision, changeDecision, type DecisionRow } from './decision-rows.ts'
import { pageOf } from './page.ts'
import type { ProjectRequest, ProjectRouteFactory } from './project-route.ts'
import { requireFound, unprocessable } from './validation.ts'

type Deps = Pick<Platform, 'db'> & { projectRoute: ProjectRouteFactory }

/** What chooses between variants for each person, and every version of it. */
export const decisionRoutes = ({ projectRoute, db }: Deps): Route[] => {
  const find = async (projectId: string, key: string): Promise<DecisionRow> =>
    requireFound(await db.prisma.decision.findUnique({ where: { projectId_key: { projectId, key } } }))

  const statusRoute = (operation: typeof activateDecision, status: DecisionStatus, change: string): Route =>
    projectRoute(operation, async (request) => {
      const changed = await changeDecision(db, refOf(request), () => ({ change, status, parts: null }))
      return { body: viewOf(changed) }
    })

  return [
    projectRoute(createDecision, async ({ body, ...request }) => {
      const { key, status = 'draft', ...parts } = body
      if (status === 'archived') throw unprocessable('status', 'enum', 'of a new decision is not archived')
      const ref = { ...refOf(request), key }
      return { status: 201, body: viewOf(await addDecision(db, ref, parts, status)) }
    }),
    projectRoute(listDecisions, async ({ projectId, query: { status, ...query } }) => ({
      body: await pageOf(
        query,
        (where, take) =>
          db.prisma.decision.findMany({
            where: { projectId, ...(status && { status }), ...where },
            orderBy: { id: 'desc' },
            take,
          }),
        (row) => viewOf({ row, warnings: [] }),
      ),
    })),
    projectRoute(getDecision, async ({ projectId, key }) => ({
      body: viewOf({ row: await find(projectId, key), warnings: [] }),
    })),
    projectRoute(replaceDecision, async ({ body, ...request }) => {
      const { version, status = null, ...parts } = body
      const changed = await changeDecision(db, { ...refOf(request), version }, () => ({
        change: 'updated',
        status,
        parts,
      }))
      return { body: viewOf(changed) }
    }),
    projectRoute(updateDecision, async ({ body, ...request }) => {
      const { version, status = null, ...parts } = body
      const changed = await changeDecision(db, { ...refOf(request), version }, ({ definition }) => ({
        change: 'updated',
        status,
        parts: { ...definition, ...parts },
      }))
      return { body: viewOf(changed) }
    }),
    statusRoute(activateDecision, 'active', 'activated'),
    statusRoute(pauseDecision, 'paused', 'paused'),
    statusRoute(archiveDecision, 'archived', 'archived'),
    projectRoute(getDecisionHistory, async ({ projectId, key, query }) => {
      const { id: decisionId } = await find(projectId, key)
      const before = query.cursor === undefined ? undefined : parseCursor(query.cursor)
      const found = await db.prisma.decisionVersion.findMany({
        where: { decisionId, ...(before !== undefined && { version: { lt: before } }) },
        orderBy: { version: 'desc' },
        take: query.limit + 1,
      })
      const page = found.slice(0, query.limit)
      const last = page.at(-1)
      const nextCursor =
        found.length > query.limit && last ? Buffer.from(`${last.version}`).toString('base64url') : null
      const data = page.map(({ version, change, status, definition, changedAt, ...by }) => ({
        version,
        change,
        status,
        ...(definition as DecisionDefinition),
        changedBy: { kind: by.changedByKind, id: by.changedById },
        changedAt,
      }))
      return { body: { data, nextCursor } }
    }),
    projectRoute(rollbackDecision, async ({ body, ...request }) => {
      const changed = await changeDecision(db, refOf(request), async ({ id: decisionId }, tx) => {
        const earlier = await tx.decisionVersion.findUnique({
          where: { decisionId_version: { decisionId, version: body.version } },
        })
        if (!earlier) throw unprocessable('version', 'exists', 'is not a version of this decision')
        return { change: 'rolled_back', status: null, parts: earlier.definition as DecisionDefinition }
      })
      return { body: viewOf(changed) }
    }),
  ]
}

type Asked = Pick<ProjectRequest, 'projectId' | 'actor' | 'key' | 'requireMatch'>

const refOf = ({ projectId, actor, key, requireMatch }: Asked) => ({
  projectId,
  actor,
  key,
  requireMatch: (row: DecisionRow) => requireMatch(viewOf({ row, warnings: [] })),
})

const viewOf = ({ row, warnings }: ChangedDecision) => {
  const { projectId: _projectId, definition, id, key, status, version, ...times } = row
  return {
    id,
    key,
    status,
    version,
    ...(definition as DecisionDefinition),
    ...times,
    ...(warnings.length > 0 && { warnings }),
  }
}

const parseCursor = (text: string): number => {
  const version = Buffer.from(text, 'base64url').toString('latin1')
  if (/^[1-9]\d{0,8}$/.test(version)) return Number(version)
  throw unprocessable('cursor', 'format', 'is not a cursor of this list')
}
