import { AppError } from '@waymark/contracts/app-error'
import type {
  Decision,
  DecisionDefinition,
  DecisionParts,
  DecisionStatus,
  RuleStates,
} from '@waymark/contracts/decision-definition'
import { PRODUCTION } from '@waymark/contracts/environment'
import { type DecisionPatch, MAX_DECISION_VERSIONS } from '@waymark/contracts/http/decisions'
import type { ValidationItem } from '@waymark/contracts/http/track-result'
import { requireNoProblems } from '@waymark/contracts/require-valid'
import { decisionChanges } from '@waymark/contracts/topics'
import { type Database, Prisma } from '@waymark/database'
import {
  type DecisionContent,
  type DecisionWarning,
  decisionProblems,
  hasPause,
  inEachEnvironment,
  inEnvironment,
  isGuarded,
  keepStates,
  reshufflesOf,
  writeDecision,
} from '@waymark/domain/decision'
import { addToOutboxByPrisma } from '@waymark/pipeline'
import { v7 as uuidv7 } from 'uuid'
import { environmentsOf, lockEnvironments } from '../environments/environments.ts'
import type { Actor } from '../http/project-route.ts'
import { requireFound, unprocessable } from '../http/validation.ts'
import { lockName } from '../lock-queries.ts'
import { type Quotas, requireConfigurationFits, requireWithinQuota } from '../quotas.ts'
import { readSegmentsOf, segmentsOf } from '../segments/segment-rows.ts'
import { affectedBy, requireNoApproval } from './approvals.ts'
import { requireNoReferences } from './code-references.ts'

/** A stored decision. */
export type DecisionRow = Prisma.DecisionGetPayload<object>
/** What a decision is evaluated by. */
export type StoredDecision = Pick<
  DecisionRow,
  'id' | 'projectId' | 'key' | 'status' | 'version' | 'definition' | 'states'
>
/** A decision after a change, and warnings about that change. */
export type ChangedDecision = { row: DecisionRow; warnings: DecisionWarning[] }

/** Who makes a version. */
export type Author = Pick<Actor, 'id'> & { kind: string }

/** A decision, who changes it, and the version that they expect. */
type DecisionRef = {
  projectId: string
  key: string
  actor: Author
  version?: number | undefined
  /** Called with the decision before the change; throws to refuse it. */
  requireMatch?: (row: DecisionRow) => void
  /** Set for what a guard or an approved proposal does: it needs no approvals. */
  approved?: true
}

/**
 * A change of a decision. `null` leaves status or parts unchanged. A `definition` is stored as it is, without checks, and so
 * are the `states` of rules.
 */
export type Change = {
  change: string
  status: DecisionStatus | null
  parts: DecisionParts | null
  definition?: DecisionDefinition
  states?: RuleStates
  /** Whether to archive a decision although code refers to it. */
  force?: boolean
  /** An environment that it affects otherwise than by status and definition. */
  affects?: string
  /** Why a guard makes it, or the proposal. */
  evidence?: Record<string, unknown>
  /** Why a person makes it. */
  reason?: string
}

type Transaction = Prisma.TransactionClient

/** The outbox lane of changes, which keeps their order. */
export const LANE = 'decisions'

/** A stored decision as it is evaluated. It was validated when it was saved. */
export const toDecision = ({
  id,
  projectId,
  key,
  status,
  version,
  definition,
  states,
}: StoredDecision): Decision => ({
  id,
  projectId,
  key,
  status: status as DecisionStatus,
  version,
  definition: definition as DecisionDefinition,
  states: states as RuleStates | null,
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
    await requireNoApproval(
      tx,
      projectId,
      key,
      await affectedBy(tx, projectId, key, null, { status, definition }),
    )
    const data = { status, version: 1, definition: definition as Prisma.InputJsonObject }
    const guards = guardColumns(definition, keepStates(null, definition, null, new Date().toISOString()))
    const row = await tx.decision.create({ data: { id: uuidv7(), projectId, key, ...data, ...guards } })
    await keepVersion(tx, row, { change: 'created' }, actor)
    await requireConfigurationFits(tx, projectId, quotas)
    return { row, warnings: [] }
  })

/** A patch of a decision: absent parts do not change, and neither do environments that it does not name. */
export const patchOf = (
  { definition }: Decision,
  { status: wanted, ...parts }: Omit<DecisionPatch, 'version'>,
): Pick<Change, 'status' | 'parts'> => {
  const status = wanted ?? null
  // Without parts nothing is checked again, so that nothing keeps a decision from being turned off.
  if (Object.keys(parts).length === 0) return { status, parts: null }
  const environments =
    parts.environments === null ? null : { ...definition.environments, ...parts.environments }
  return { status, parts: { ...definition, ...parts, environments } }
}

/** A decision that is turned on or off in an environment. */
export const withStatus = (
  definition: DecisionDefinition,
  environment: string,
  status: 'active' | 'paused',
): Pick<Change, 'status'> & { definition?: DecisionDefinition } => {
  if (environment === PRODUCTION) return { status }
  const { [environment]: before, ...others } = definition.environments ?? {}
  const environments = { ...others, [environment]: { rules: before?.rules ?? [], status } }
  return { status: null, definition: { ...definition, environments } }
}

/**
 * Checks that a patch could be applied to a decision now, whose id it returns. Call it with the decisions locked.
 * @throws AppError not_found, conflict, precondition_failed, unprocessable
 */
export const requireApplicable = async (
  tx: Transaction,
  projectId: string,
  key: string,
  { version, ...patch }: DecisionPatch,
): Promise<string> => {
  const current = await findChangeable(tx, { projectId, key, version })
  const next = await contentAfter(tx, current, patchOf(current, patch))
  await requireNoApproval(tx, projectId, key, await affectedBy(tx, projectId, key, current, next))
  return current.id
}

/**
 * Changes a decision and creates a new version. `decide` gets the current decision.
 * @throws AppError not_found, precondition_failed when the caller's version is not the newest, conflict when it is
 * archived, unprocessable
 */
export const changeDecision = (
  db: Database,
  ref: DecisionRef,
  quotas: Quotas,
  decide: (current: Decision, tx: Transaction) => Change | Promise<Change>,
): Promise<ChangedDecision> =>
  db.prisma.$transaction(async (tx) => {
    await lockDecisions(tx, ref.projectId)
    return changeDecisionIn(tx, ref, quotas, decide)
  })

/** Like `changeDecision`, in a transaction that has locked the decisions. */
export const changeDecisionIn = async (
  tx: Transaction,
  ref: DecisionRef,
  quotas: Quotas,
  decide: (current: Decision, tx: Transaction) => Change | Promise<Change>,
): Promise<ChangedDecision> => {
  const { projectId, key, actor } = ref
  const current = await findChangeable(tx, ref)
  const made = await decide(current, tx)
  const { status, definition } = await contentAfter(tx, current, made)
  const states =
    made.states ?? keepStates(current.definition, definition, current.states, new Date().toISOString())
  const next = { ...current, status, definition, states }
  requireNotTurnedOff(current, next)
  if (status === 'archived' && !ref.approved && !made.force) await requireNoReferences(tx, current.id)
  if (!ref.approved)
    await requireNoApproval(
      tx,
      projectId,
      key,
      await affectedBy(tx, projectId, key, current, next, made.affects),
    )
  const row = await tx.decision.update({
    where: { id: current.id },
    data: {
      ...guardColumns(definition, states),
      status: next.status,
      version: { increment: 1 },
      definition: definition as Prisma.InputJsonObject,
      updatedAt: new Date(),
    },
  })
  await keepVersion(tx, row, made, actor)
  if (made.parts) await requireConfigurationFits(tx, projectId, quotas)
  const dependents = made.status === 'archived' ? await dependentsOf(tx, current) : []
  return { row, warnings: [...reshufflesOf(current.definition, definition), ...dependents] }
}

/** What a decision becomes by a change. Parts are checked. @throws AppError unprocessable */
export const contentAfter = async (
  tx: Transaction,
  { projectId, key, ...current }: Decision,
  {
    status,
    parts,
    definition: unchecked = current.definition,
  }: Pick<Change, 'status' | 'parts' | 'definition'>,
): Promise<DecisionContent> => {
  const definition = parts ? writeDecision(parts, current.definition, generated) : unchecked
  if (parts) await requireUsable(tx, projectId, key, definition)
  return { status: status ?? current.status, definition }
}

/** The columns of a decision about its guards, which are evaluated at once. */
const guardColumns = (definition: DecisionDefinition, states: RuleStates | null) => ({
  states: (states as Prisma.InputJsonObject | null) ?? Prisma.DbNull,
  guardsDueAt: isGuarded(definition) ? new Date() : null,
})

/** What a guard has turned off stays so until it is resumed with a reason. @throws AppError conflict */
const requireNotTurnedOff = (before: Decision, after: Decision): void => {
  for (const { environment = PRODUCTION, status } of inEachEnvironment(after))
    if (
      status === 'active' &&
      inEnvironment(before, environment).status !== 'active' &&
      hasPause(after.states, environment)
    )
      throw new AppError(
        'conflict',
        `A guard has turned the decision off in ${environment}: resume it with a reason (POST resume)`,
      )
}

/** The decision that is to be changed. @throws AppError not_found, conflict, precondition_failed */
export const findChangeable = async (
  tx: Transaction,
  { projectId, key, version, requireMatch }: Omit<DecisionRef, 'actor'>,
): Promise<Decision> => {
  const found = requireFound(await tx.decision.findUnique({ where: { projectId_key: { projectId, key } } }))
  requireMatch?.(found)
  const current = toDecision(found)
  if (version !== undefined && version !== current.version)
    throw new AppError('precondition_failed', `The decision has changed: its version is ${current.version}`)
  if (current.status === 'archived') throw new AppError('conflict', 'The decision is archived')
  return current
}

const generated = {
  newRuleId: () => uuidv7(),
  newSalt: () => uuidv7().slice(-12),
}

/**
 * Serializes changes of a project's decisions and segments until the transaction ends: they depend on each other, and two
 * changes that are valid alone may be invalid together.
 */
export const lockDecisions = (tx: Transaction, projectId: string): Promise<void> =>
  lockName(tx, `decisions:${projectId}`)

const othersIn = async (tx: Transaction, projectId: string, key: string): Promise<Decision[]> => {
  const rows = await tx.decision.findMany({
    where: { projectId, key: { not: key }, status: { not: 'archived' } },
  })
  return rows.map(toDecision)
}

/** Checks a definition against the rest of the project. @throws AppError unprocessable */
export const requireUsable = async (
  tx: Transaction,
  projectId: string,
  key: string,
  definition: DecisionDefinition,
): Promise<void> => {
  const problems = [
    ...decisionProblems({ key, definition }, await othersIn(tx, projectId, key)),
    ...(await unknownSelectors(tx, projectId, definition)),
    ...(await unknownSegments(tx, projectId, definition)),
    ...(await unknownEnvironments(tx, projectId, definition)),
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
  return metrics.flatMap(({ selectorId }, index) =>
    selectorId === null || known.has(selectorId)
      ? []
      : [
          {
            field: `metrics.${index}.selectorId`,
            rule: 'exists',
            message: 'is not a metering selector of this project',
          },
        ],
  )
}

const unknownSegments = async (
  tx: Transaction,
  projectId: string,
  definition: DecisionDefinition,
): Promise<ValidationItem[]> => {
  const known = new Set((await readSegmentsOf(tx, projectId, [{ definition }])).map(({ key }) => key))
  return segmentsOf(definition)
    .filter(({ key }) => !known.has(key))
    .map(({ field, key }) => ({
      field,
      rule: 'exists',
      message: `refers to the segment ${key}, which is not a segment of this project`,
    }))
}

const unknownEnvironments = async (
  tx: Transaction,
  projectId: string,
  { environments = {} }: DecisionDefinition,
): Promise<ValidationItem[]> => {
  const named = Object.keys(environments)
  if (named.length === 0) return []
  await lockEnvironments(tx, projectId)
  const known = (await environmentsOf(tx, projectId)).filter((key) => key !== PRODUCTION)
  return named
    .filter((key) => !known.includes(key))
    .map((key) => ({
      field: `environments.${key}`,
      rule: 'exists',
      message:
        key === PRODUCTION
          ? 'is not used: status and rules of the decision itself are those of production'
          : `is not an environment of this project, which has ${known.join(', ')}`,
    }))
}

const keepVersion = async (
  tx: Transaction,
  row: DecisionRow,
  { change, evidence, reason }: Pick<Change, 'change' | 'evidence' | 'reason'>,
  actor: Author,
): Promise<void> => {
  await tx.decisionVersion.create({
    data: {
      decisionId: row.id,
      version: row.version,
      change,
      status: row.status,
      definition: row.definition as Prisma.InputJsonObject,
      ...(evidence && { evidence: evidence as Prisma.InputJsonObject }),
      ...(reason !== undefined && { reason }),
      changedByKind: actor.kind,
      changedById: actor.id,
    },
  })
  await tx.decisionVersion.deleteMany({
    where: { decisionId: row.id, version: { lte: row.version - MAX_DECISION_VERSIONS } },
  })
  await tx.configChange.create({ data: { projectId: row.projectId } })
  const { id: decisionId, key: decisionKey, projectId, version, status } = row
  await addToOutboxByPrisma(tx, LANE, decisionChanges, [
    {
      key: `${projectId}:${decisionId}`,
      value: {
        v: 1,
        projectId,
        decisionId,
        decisionKey,
        version,
        change,
        status,
        changedBy: { kind: actor.kind, id: actor.id },
        ...(evidence && { evidence }),
        ...(reason !== undefined && { reason }),
        at: row.updatedAt.toISOString(),
      },
    },
  ])
}

const dependentsOf = async (tx: Transaction, { projectId, key }: Decision): Promise<DecisionWarning[]> => {
  const others = await othersIn(tx, projectId, key)
  return others.flatMap(inEachEnvironment).flatMap(({ key: other, environment = PRODUCTION, definition }) =>
    definition.rules
      .filter(({ prerequisites }) => prerequisites.some(({ decision }) => decision === key))
      .map(({ id }) => ({
        code: 'prerequisite_archived',
        ruleId: id,
        message: `A rule of ${other} in ${environment} depends on this decision and would no longer apply to anyone.`,
      })),
  )
}
