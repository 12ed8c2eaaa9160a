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
import type { Prisma } from '@waymark/database'
import type { Route } from '@waymark/service-kit'
import { decodeCursor, encodeCursor, fillPage, pageOf, unusableCursor } from '../http/page.ts'
import type { ProjectRequest } from '../http/project-route.ts'
import { requireFound, unprocessable } from '../http/validation.ts'
import type { ManagementDeps } from '../management-deps.ts'
import { addDecision, type ChangedDecision, changeDecision, type DecisionRow } from './decision-rows.ts'

/** A project's decisions and their versions. */
export const decisionRoutes = ({ projectRoute, db, quotas }: ManagementDeps): Route[] => {
  const find = async (projectId: string, key: string): Promise<DecisionRow> =>
    requireFound(await db.prisma.decision.findUnique({ where: { projectId_key: { projectId, key } } }))

  const statusRoute = (operation: typeof activateDecision, status: DecisionStatus, change: string): Route =>
    projectRoute(operation, async (request) => {
      const changed = await changeDecision(db, refOf(request), quotas, () => ({
        change,
        status,
        parts: null,
      }))
      return { body: viewOf(changed) }
    })

  return [
    projectRoute(createDecision, async ({ body, ...request }) => {
      const { key, status = 'draft', ...parts } = body
      if (status === 'archived')
        throw unprocessable('status', 'enum', 'of a new decision must be draft, active or paused', status)
      const ref = { ...refOf(request), key }
      return { status: 201, body: viewOf(await addDecision(db, ref, parts, status, quotas)) }
    }),
    projectRoute(listDecisions, async ({ projectId, query: { status, ...query } }) => ({
      body: await pageOf(
        query,
        (page) => db.prisma.decision.findMany(page({ projectId, ...(status && { status }) })),
        (row) => viewOf({ row, warnings: [] }),
      ),
    })),
    projectRoute(getDecision, async ({ projectId, key }) => ({
      body: viewOf({ row: await find(projectId, key), warnings: [] }),
    })),
    projectRoute(replaceDecision, async ({ body, ...request }) => {
      const { version, status = null, ...parts } = body
      const changed = await changeDecision(db, { ...refOf(request), version }, quotas, () => ({
        change: 'updated',
        status,
        parts,
      }))
      return { body: viewOf(changed) }
    }),
    projectRoute(updateDecision, async ({ body, ...request }) => {
      const { version, status = null, ...parts } = body
      const changed = await changeDecision(db, { ...refOf(request), version }, quotas, ({ definition }) => ({
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
      const { data, last } = await fillPage(query.limit, viewVersion, (previous, take) => {
        const below = previous?.version ?? before
        return db.prisma.decisionVersion.findMany({
          where: { decisionId, ...(below !== undefined && { version: { lt: below } }) },
          orderBy: { version: 'desc' },
          take,
        })
      })
      return { body: { data, nextCursor: last ? encodeCursor(`${last.version}`) : null } }
    }),
    projectRoute(rollbackDecision, async ({ body, ...request }) => {
      const changed = await changeDecision(db, refOf(request), quotas, async ({ id: decisionId }, tx) => {
        const earlier = await tx.decisionVersion.findUnique({
          where: { decisionId_version: { decisionId, version: body.version } },
        })
        if (!earlier)
          throw unprocessable(
            'version',
            'exists',
            'must be an earlier version of this decision',
            body.version,
          )
        return { change: 'rolled_back', status: null, parts: earlier.definition as DecisionDefinition }
      })
      return { body: viewOf(changed) }
    }),
  ]
}

type DecisionChange = Pick<ProjectRequest, 'projectId' | 'actor' | 'key' | 'requireMatch'>

const refOf = ({ projectId, actor, key, requireMatch }: DecisionChange) => ({
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
    metrics: [],
    ...(definition as DecisionDefinition),
    ...times,
    ...(warnings.length > 0 && { warnings }),
  }
}

const viewVersion = ({
  version,
  change,
  status,
  definition,
  changedAt,
  changedByKind,
  changedById,
}: Prisma.DecisionVersionGetPayload<object>) => ({
  version,
  change,
  status,
  metrics: [],
  ...(definition as DecisionDefinition),
  changedBy: { kind: changedByKind, id: changedById },
  changedAt,
})

const parseCursor = (text: string): number => {
  const version = decodeCursor(text)
  if (/^[1-9]\d{0,8}$/.test(version)) return Number(version)
  throw unusableCursor()
}
