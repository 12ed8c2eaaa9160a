import { AppError } from '@waymark/contracts/app-error'
import type { Decision, DecisionDefinition, RuleStates } from '@waymark/contracts/decision-definition'
import { PRODUCTION } from '@waymark/contracts/environment'
import {
  activateDecision,
  archiveDecision,
  createDecision,
  getDecision,
  getDecisionHistory,
  getDecisionVersion,
  listDecisions,
  pauseDecision,
  replaceDecision,
  restoreDecision,
  resumeDecision,
  rollbackDecision,
  updateDecision,
} from '@waymark/contracts/http/decisions'
import type { Prisma } from '@waymark/database'
import { inEachEnvironment, localFlagOf, stalenessOf, stopsOf } from '@waymark/domain/decision'
import { createPatch } from '@waymark/domain/json'
import { LoopTurns, type Route } from '@waymark/service-kit'
import { namesFor } from '../audit/actor-names.ts'
import { decodeCursor, encodeCursor, fillPage, pageOf, unusableCursor } from '../http/page.ts'
import type { ProjectRequest } from '../http/project-route.ts'
import { requireFound, unprocessable } from '../http/validation.ts'
import type { ManagementDeps } from '../management-deps.ts'
import { restoreChange, resumeChange, switchChange } from './decision-changes.ts'
import {
  addDecision,
  type ChangedDecision,
  changeDecision,
  type DecisionRow,
  patchOf,
  toDecision,
} from './decision-rows.ts'

/** A project's decisions and their versions. */
export const decisionRoutes = ({ projectRoute, db, quotas, clock }: ManagementDeps): Route[] => {
  const find = async (projectId: string, key: string): Promise<DecisionRow> =>
    requireFound(await db.prisma.decision.findUnique({ where: { projectId_key: { projectId, key } } }))

  const switchRoute = (operation: typeof activateDecision, status: 'active' | 'paused'): Route =>
    projectRoute(operation, async ({ query: { environment }, ...request }) => {
      const changed = await changeDecision(db, refOf(request), quotas, (current, tx) =>
        switchChange(tx, current, environment, status),
      )
      return { body: viewOf(changed) }
    })

  const restoreVersion = (
    ref: ReturnType<typeof refOf>,
    version: number,
    missing: AppError,
  ): Promise<ChangedDecision> =>
    changeDecision(db, ref, quotas, (current, tx) => restoreChange(tx, current, version, missing))

  return [
    projectRoute(createDecision, async ({ body, ...request }) => {
      const { key, status = 'draft', ...parts } = body
      if (status === 'archived')
        throw unprocessable('status', 'enum', 'of a new decision must be draft, active or paused', status)
      const ref = { ...refOf(request), key }
      return { status: 201, body: viewOf(await addDecision(db, ref, parts, status, quotas)) }
    }),
    projectRoute(listDecisions, async ({ projectId, query: { status, owner, tag, ...query } }) => ({
      body: await pageOf(
        query,
        (page) =>
          db.prisma.decision.findMany(
            page({ projectId, ...(status && { status }), AND: labelled(owner, tag) }),
          ),
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
    projectRoute(updateDecision, async ({ body: { version, ...patch }, ...request }) => {
      const changed = await changeDecision(db, { ...refOf(request), version }, quotas, (current) => ({
        ...patchOf(current, patch),
        change: 'updated',
      }))
      return { body: viewOf(changed) }
    }),
    switchRoute(activateDecision, 'active'),
    switchRoute(pauseDecision, 'paused'),
    projectRoute(resumeDecision, async ({ body: { reason }, query: { environment }, ...request }) => {
      const changed = await changeDecision(db, refOf(request), quotas, (current) =>
        resumeChange(current, environment, reason, clock()),
      )
      return { body: viewOf(changed), reason }
    }),
    projectRoute(archiveDecision, async ({ query: { force }, ...request }) => {
      const change = { change: 'archived', status: 'archived', parts: null, force } as const
      return { body: viewOf(await changeDecision(db, refOf(request), quotas, () => change)) }
    }),
    projectRoute(getDecisionHistory, async ({ projectId, key, query, actor }) => {
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
      const names = await namesFor(
        actor,
        db.prisma,
        projectId,
        data.map(({ changedBy }) => changedBy.id),
      )
      return {
        body: {
          data: data.map((version) => withName(version, names)),
          nextCursor: last ? encodeCursor(`${last.version}`) : null,
        },
      }
    }),
    projectRoute(getDecisionVersion, async ({ projectId, key, request, actor }) => {
      const { id: decisionId } = await find(projectId, key)
      const version = requireVersion(request.params.version)
      const [found, previous] = await db.prisma.decisionVersion.findMany({
        where: { decisionId, version: { lte: version } },
        orderBy: { version: 'desc' },
        take: 2,
      })
      if (found?.version !== version) throw new AppError('not_found', 'Not found')
      return {
        body: {
          ...withName(viewVersion(found), await namesFor(actor, db.prisma, projectId, [found.changedById])),
          previousVersion: previous?.version ?? null,
          changes: previous
            ? await createPatch(contentsOf(previous), contentsOf(found), new LoopTurns())
            : [],
        },
      }
    }),
    projectRoute(restoreDecision, async (request) => {
      const version = requireVersion(request.request.params.version)
      const missing = new AppError('not_found', 'Not found')
      return { body: viewOf(await restoreVersion(refOf(request), version, missing)) }
    }),
    projectRoute(rollbackDecision, async ({ body: { version }, ...request }) => {
      const missing = unprocessable(
        'version',
        'exists',
        'must be an earlier version of this decision',
        version,
      )
      return { body: viewOf(await restoreVersion(refOf(request), version, missing)) }
    }),
  ]
}

/** Conditions of the definition. */
const labelled = (owner: string | undefined, tag: string | undefined): Prisma.DecisionWhereInput[] => [
  ...(owner === undefined ? [] : [{ definition: { path: ['owner'], equals: owner } }]),
  ...(tag === undefined ? [] : [{ definition: { path: ['tags'], array_contains: [tag] } }]),
]

type DecisionChange = Pick<ProjectRequest, 'projectId' | 'actor' | 'key' | 'requireMatch'>

const refOf = ({ projectId, actor, key, requireMatch }: DecisionChange) => ({
  projectId,
  actor,
  key,
  requireMatch: (row: DecisionRow) => requireMatch(viewOf({ row, warnings: [] })),
})

const viewOf = ({ row, warnings }: ChangedDecision) => ({
  id: row.id,
  key: row.key,
  status: row.status,
  version: row.version,
  metrics: [],
  ...(row.definition as DecisionDefinition),
  ...stopsView(row.states as RuleStates | null),
  ...staleView(row),
  ...localView(toDecision(row)),
  createdAt: row.createdAt,
  updatedAt: row.updatedAt,
  ...(warnings.length > 0 && { warnings }),
})

const staleView = (row: DecisionRow) => {
  const stale = stalenessOf(toDecision(row), row, Date.now())
  return stale && { stale }
}

const localView = (decision: Decision) => {
  const notLocal = inEachEnvironment(decision).flatMap((one) => {
    const flag = localFlagOf(one)
    return Array.isArray(flag)
      ? flag.map((problem) => ({ environment: one.environment ?? PRODUCTION, ...problem }))
      : []
  })
  return { local: notLocal.length === 0, notLocal }
}

const stopsView = (states: RuleStates | null) => {
  const stops = stopsOf(states)
  return stops.length > 0 && { stops }
}

type StoredVersion = Prisma.DecisionVersionGetPayload<object>

/** A version as it is compared with others. */
export const contentsOf = ({ status, definition }: Pick<StoredVersion, 'status' | 'definition'>) => ({
  status,
  metrics: [],
  ...(definition as DecisionDefinition),
})

const viewVersion = (stored: StoredVersion) => ({
  version: stored.version,
  change: stored.change,
  ...contentsOf(stored),
  ...(stored.evidence !== null && { evidence: stored.evidence as Record<string, unknown> }),
  ...(stored.reason !== null && { reason: stored.reason }),
  changedBy: { kind: stored.changedByKind, id: stored.changedById },
  changedAt: stored.changedAt,
})

const withName = (
  { changedBy, ...version }: ReturnType<typeof viewVersion>,
  names: ReadonlyMap<string, string>,
) => ({ ...version, changedBy: { ...changedBy, name: names.get(changedBy.id) ?? null } })

/** The version in a path. @throws AppError not_found when no version can have that number */
const requireVersion = (text = ''): number => {
  if (VERSION.test(text)) return Number(text)
  throw new AppError('not_found', 'Not found')
}
const VERSION = /^[1-9]\d{0,8}$/

const parseCursor = (text: string): number => {
  const version = decodeCursor(text)
  if (VERSION.test(version)) return Number(version)
  throw unusableCursor()
}
