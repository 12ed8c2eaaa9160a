import {
  AppError,
  type Decision,
  type DecisionDefinition,
  type DecisionParts,
  type DecisionStatus,
  decisionChanges,
  requireNoProblems,
  type ValidationItem,
} from '@waymark/contracts'
import type { Database, Prisma } from '@waymark/database'
import { type DecisionWarning, decisionProblems, reshufflesOf, writeDecision } from '@waymark/domain'
import { addToOutboxByPrisma } from '@waymark/pipeline'
import { v7 as uuidv7 } from 'uuid'
import type { Actor } from '../http/project-route.ts'
import { requireFound, unprocessable } from '../http/validation.ts'
import { lockName } from '../lock-queries.ts'
import { type Quotas, requireConfigurationFits, requireWithinQuota } from '../quotas.ts'

/** A stored decision. */
export type DecisionRow = Prisma.DecisionGetPayload<object>
/** A decision after a change, and warnings about that change. */
export type ChangedDecision = { row: DecisionRow; warnings: DecisionWarning[] }

/** A decision, who changes it, and the version that they expect. */
type DecisionRef = {
  projectId: string
  key: string
  actor: Actor
  version?: number | undefined
  /** Called with the decision before the change; throws to refuse it. */
  requireMatch?: (row: DecisionRow) => void
}

/** A change of a decision. `null` leaves status or parts unchanged. */
type Change = { change: string; status: DecisionStatus | null; parts: DecisionParts | null }

type Transaction = Prisma.TransactionClient

/** The outbox lane of changes, which keeps their order. */
const LANE = 'decisions'

/** A stored decision as it is evaluated. It was validated when it was saved. */
export const toDecision = ({ id, projectId, key, status, version, definition }: DecisionRow): Decision => ({
  id,
  projectId,
  key,
  status: status as DecisionStatus,
  version,
  definition: definition as DecisionDefinition,
})

/** Adds a decision. @throws AppError unprocessable */
export const addDecision = (
  db: Database,
  { projectId, key, actor }: DecisionRef,
  parts: DecisionParts,
  status: DecisionStatus,
  quotas: Quotas,
): Promise<ChangedDecision> =>
  db.prisma.$transaction(async (tx) => {
    await lockDecisions(tx, projectId)
    const taken = await tx.decision.findUnique({ where: { projectId_key: { projectId, key } } })
    if (taken) throw unprocessable('key', 'unique', 'must not be the key of another decision', key)
    requireWithinQuota(quotas, 'decisions', (await tx.decision.count({ where: { projectId } })) + 1)
    const definition = writeDecision(parts, null, generated)
    await requireUsable(tx, projectId, key, definition)
    const data = { status, version: 1, definition: definition as Prisma.InputJsonObject }
    const row = await tx.decision.create({ data: { id: uuidv7(), projectId, key, ...data } })
    await keepVersion(tx, row, 'created', actor)
    await requireConfigurationFits(tx, projectId, quotas)
    return { row, warnings: [] }
  })

/**
 * Changes a decision and creates a new version. `decide` gets the current decision.
 * @throws AppError not_found, precondition_failed when the caller's version is not the newest, conflict when it is
 * archived, unprocessable
 */
export const changeDecision = (
  db: Database,
  { projectId, key, actor, version, requireMatch }: DecisionRef,
  quotas: Quotas,
  decide: (current: Decision, tx: Transaction) => Change | Promise<Change>,
): Promise<ChangedDecision> =>
  db.prisma.$transaction(async (tx) => {
    await lockDecisions(tx, projectId)
    const found = requireFound(await tx.decision.findUnique({ where: { projectId_key: { projectId, key } } }))
    requireMatch?.(found)
    const current = toDecision(found)
    if (version !== undefined && version !== current.version)
      throw new AppError('precondition_failed', `The decision has changed: its version is ${current.version}`)
    if (current.status === 'archived') throw new AppError('conflict', 'The decision is archived')
    const { change, status, parts } = await decide(current, tx)
    const definition = parts ? writeDecision(parts, current.definition, generated) : current.definition
    if (parts) await requireUsable(tx, projectId, key, definition)
    const row = await tx.decision.update({
      where: { id: current.id },
      data: {
        status: status ?? current.status,
        version: { increment: 1 },
        definition: definition as Prisma.InputJsonObject,
        updatedAt: new Date(),
      },
    })
    await keepVersion(tx, row, change, actor)
    if (parts) await requireConfigurationFits(tx, projectId, quotas)
    const dependents = status === 'archived' ? await dependentsOf(tx, current) : []
    return { row, warnings: [...reshufflesOf(current.definition, definition), ...dependents] }
  })

const generated = {
  newRuleId: () => uuidv7(),
  newSalt: () => uuidv7().slice(-12),
}

// Decisions depend on each other: two changes that are valid alone may be invalid together, so they are serialized.
const lockDecisions = (tx: Transaction, projectId: string): Promise<void> =>
  lockName(tx, `decisions:${projectId}`)

const othersIn = async (tx: Transaction, projectId: string, key: string): Promise<Decision[]> => {
  const rows = await tx.decision.findMany({
    where: { projectId, key: { not: key }, status: { not: 'archived' } },
  })
  return rows.map(toDecision)
}

const requireUsable = async (
  tx: Transaction,
  projectId: string,
  key: string,
  definition: DecisionDefinition,
): Promise<void> => {
  const problems = [
    ...decisionProblems({ key, definition }, await othersIn(tx, projectId, key)),
    ...(await unknownSelectors(tx, projectId, definition)),
  ]
  requireNoProblems(problems, 'The decision cannot be used')
}

const unknownSelectors = async (
  tx: Transaction,
  projectId: string,
  { metrics = [] }: DecisionDefinition,
): Promise<ValidationItem[]> => {
  const asked = metrics.flatMap(({ selectorId }) => selectorId ?? [])
  if (asked.length === 0) return []
  const rows = await tx.meteringSelector.findMany({
    where: { projectId, id: { in: asked } },
    select: { id: true },
  })
  const known = new Set(rows.map(({ id }) => id))
  return metrics.flatMap(({ selectorId }, place) =>
    selectorId === null || known.has(selectorId)
      ? []
      : [
          {
            field: `metrics.${place}.selectorId`,
            rule: 'exists',
            message: 'is not a metering selector of this project',
          },
        ],
  )
}

const keepVersion = async (
  tx: Transaction,
  row: DecisionRow,
  change: string,
  actor: Actor,
): Promise<void> => {
  await tx.decisionVersion.create({
    data: {
      decisionId: row.id,
      version: row.version,
      change,
      status: row.status,
      definition: row.definition as Prisma.InputJsonObject,
      changedByKind: actor.kind,
      changedById: actor.id,
    },
  })
  await tx.configChange.create({ data: { projectId: row.projectId } })
  const { id: decisionId, key: decisionKey, projectId, version, status } = row
  await addToOutboxByPrisma(tx, LANE, decisionChanges, [
    {
      key: `${projectId}:${decisionId}`,
      value: {
        ...{ v: 1, projectId, decisionId, decisionKey, version, change, status },
        changedBy: { kind: actor.kind, id: actor.id },
        at: row.updatedAt.toISOString(),
      },
    },
  ])
}

const dependentsOf = async (tx: Transaction, { projectId, key }: Decision): Promise<DecisionWarning[]> => {
  const others = await othersIn(tx, projectId, key)
  return others.flatMap(({ key: other, definition }) =>
    definition.rules
      .filter(({ prerequisites }) => prerequisites.some(({ decision }) => decision === key))
      .map(({ id }) => ({
        code: 'prerequisite_archived',
        ruleId: id,
        message: `A rule of ${other} depends on this decision and would no longer apply to anyone.`,
      })),
  )
}
