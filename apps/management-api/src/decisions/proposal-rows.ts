import { AppError } from '@waymark/contracts/app-error'
import { approverRoles } from '@waymark/contracts/approvals'
import type { DecisionDefinition, DecisionStatus } from '@waymark/contracts/decision-definition'
import { PRODUCTION } from '@waymark/contracts/environment'
import type { ProposalRequest, ProposalStatus } from '@waymark/contracts/http/proposals'
import { decisionChanges } from '@waymark/contracts/topics'
import type { Database, Prisma } from '@waymark/database'
import type { DecisionContent, NeededApproval } from '@waymark/domain/decision'
import { addToOutboxByPrisma } from '@waymark/pipeline'
import { requireFound, requireId, unprocessable } from '../http/validation.ts'
import type { Quotas } from '../quotas.ts'
import { requireConfigurationFits } from '../quotas.ts'
import { affectedBy, neededApprovals } from './approvals.ts'
import { restoreChange, resumeChange } from './decision-changes.ts'
import {
  type Author,
  type Change,
  changeDecisionIn,
  contentAfter,
  LANE,
  patchOf,
  requireUsable,
  toDecision,
} from './decision-rows.ts'

type Transaction = Prisma.TransactionClient
type Tables = Pick<Transaction, 'environment' | 'project' | 'projectMember' | 'decision' | 'decisionProposal'>

/** What is read of a proposal. */
export const WITH_REVIEWS = { decision: true, reviews: { orderBy: { id: 'asc' } } } as const
/** A stored proposal with its reviews, and the decision as it is now. */
export type ProposalRow = Prisma.DecisionProposalGetPayload<{ include: typeof WITH_REVIEWS }>

/** What a proposal asks for, as it is stored. */
type Wanted = Pick<ProposalRequest, 'change' | 'restore' | 'resume'>

/** The part of a request that says what is proposed. Undefined when it says nothing. @throws AppError unprocessable */
export const wantedIn = ({ change, restore, resume }: ProposalRequest): Wanted | undefined => {
  const given = [change, restore, resume].filter((part) => part !== undefined)
  if (given.length > 1)
    throw unprocessable('', 'one_of', 'must have one of change, restore and resume, and no other of them')
  if (change) return { change }
  if (restore !== undefined) return { restore }
  return resume && { resume }
}

/**
 * The change that a proposal makes of a decision as it is now.
 * @throws AppError unprocessable, conflict when nothing is stopped that it resumes
 */
export const changeOf = async (
  tx: Transaction,
  current: ReturnType<typeof toDecision>,
  { change, restore, resume }: Wanted,
  now: number,
): Promise<Change> => {
  if (restore !== undefined) {
    const missing = unprocessable('restore', 'exists', 'must be an earlier version of this decision', restore)
    return restoreChange(tx, current, restore, missing)
  }
  if (resume) return resumeChange(current, resume.environment ?? PRODUCTION, resume.reason, now)
  const { version: _version, ...patch } = change ?? {}
  return { change: 'updated', ...patchOf(current, patch) }
}

/** The exact content that a proposal makes of a decision as it is now. @throws AppError as `changeOf` */
export const contentOf = async (
  tx: Transaction,
  current: ReturnType<typeof toDecision>,
  wanted: Wanted,
  now: number,
): Promise<DecisionContent> => contentAfter(tx, current, await changeOf(tx, current, wanted, now))

/** An open proposal of a decision. Call it with the decisions locked. @throws AppError not_found, conflict */
export const findOpen = async (
  tx: Transaction,
  projectId: string,
  key: string,
  id: string,
): Promise<ProposalRow> => {
  const where = { id: requireId(id), projectId, decision: { key } }
  const found = requireFound(await tx.decisionProposal.findFirst({ where, include: WITH_REVIEWS }))
  if (found.status !== 'open')
    throw new AppError('conflict', `The proposal is not open any more: it is ${found.status}`)
  return found
}

/** Whether there is a newer version of the decision than the one that an open proposal was made from. */
export const isOutdated = ({ status, baseVersion, decision }: ProposalRow): boolean =>
  status === 'open' && baseVersion !== decision.version

/** Approvals that a proposal needs, and those that count. */
export type Standing = {
  needed: (NeededApproval & { given: number })[]
  approved: boolean
  /** Ids of the reviews that count. */
  counting: ReadonlySet<string>
}

/** Without a setting that requires more, one member approves what is proposed. */
const VOLUNTARY = { required: 1, roles: approverRoles }

/**
 * How far the approvals of an open proposal have come, by the settings and the roles of members as they are now. Approvals
 * of an earlier revision, or by someone who has lost the role, do not count, and none counts if there is a newer version.
 */
export const standingOf = async (tx: Tables, proposal: ProposalRow): Promise<Standing> => {
  const { projectId, decision, revision, reviews } = proposal
  const { resume } = proposal.request as Wanted
  const affected = await affectedBy(
    tx,
    projectId,
    decision.key,
    toDecision(decision),
    contentIn(proposal),
    resume && (resume.environment ?? PRODUCTION),
  )
  const required = await neededApprovals(tx, projectId, affected)
  const needed = required.length > 0 ? required : [{ ...VOLUNTARY, environments: affected }]
  const approvals = reviews.filter(
    (review) =>
      review.verdict === 'approved' &&
      review.revision === revision &&
      !proposal.authors.includes(review.reviewerId) &&
      !isOutdated(proposal),
  )
  const members = await tx.projectMember.findMany({
    where: { projectId, userId: { in: approvals.map(({ reviewerId }) => reviewerId) } },
  })
  const roleOf = new Map<string, string>(members.map(({ userId, role }) => [userId, role]))
  const byRole = (roles: readonly string[]) =>
    approvals.filter(({ reviewerId }) => roles.includes(roleOf.get(reviewerId) ?? ''))
  const counted = needed.map(({ required: count, ...rest }) => ({
    ...rest,
    // One of the approvals may be by the author.
    required: proposal.anonymous ? count + 1 : count,
    given: byRole(rest.roles).length,
  }))
  return {
    needed: counted,
    approved: counted.every(({ required: count, given }) => given >= count),
    counting: new Set(needed.flatMap(({ roles }) => byRole(roles).map(({ id }) => id))),
  }
}

/** The content that a proposal applies. */
export const contentIn = ({ decisionStatus, definition }: ProposalRow): DecisionContent => ({
  status: decisionStatus as DecisionStatus,
  definition: definition as DecisionDefinition,
})

/**
 * Applies a proposal as it is stored. `change` says how: with its approvals, or without them for a reason. Call it with the
 * decisions locked.
 * @returns the version that it made
 * @throws AppError precondition_failed when there is a newer version, unprocessable when it is not valid any more
 */
export const applyIn = async (
  tx: Transaction,
  proposal: ProposalRow,
  quotas: Quotas,
  now: number,
  { change, reason, evidence }: Pick<Change, 'change' | 'reason' | 'evidence'>,
): Promise<number> => {
  const { projectId, decision, baseVersion: version, proposedByKind: kind, proposedById } = proposal
  const { resume } = proposal.request as Wanted
  const content = contentIn(proposal)
  const ref = {
    projectId,
    key: decision.key,
    version,
    actor: { kind, id: proposedById },
    approved: true as const,
  }
  const { row } = await changeDecisionIn(tx, ref, quotas, async (current) => {
    await requireUsable(tx, projectId, decision.key, content.definition)
    const own = resume && resumeChange(current, resume.environment ?? PRODUCTION, resume.reason, now)
    const why = reason ?? resume?.reason
    return {
      change,
      status: content.status,
      parts: null,
      definition: content.definition,
      ...(own?.states && { states: own.states }),
      evidence: { proposal: proposal.id, ...evidence },
      ...(why !== undefined && { reason: why }),
    }
  })
  await requireConfigurationFits(tx, projectId, quotas)
  await finish(tx, proposal.id, 'applied', now, { version: row.version })
  return row.version
}

/** Ends a proposal. */
export const finish = async (
  tx: Transaction,
  id: string,
  status: Exclude<ProposalStatus, 'open'>,
  now: number,
  result: { version?: number; error?: string } = {},
): Promise<void> => {
  const at = new Date(now)
  await tx.decisionProposal.update({
    where: { id },
    data: { status, finishedAt: at, updatedAt: at, dueAt: null, ...result },
  })
}

/** What webhooks are told of a proposal, beside the version that an applied one makes. */
export type ProposalEvent =
  | 'proposed'
  | 'proposal_edited'
  | 'proposal_approved'
  | 'proposal_rejected'
  | 'proposal_withdrawn'
  | 'proposal_failed'

/** Queues the message about a proposal. */
export const publish = async (
  tx: Transaction,
  { id, projectId, revision, decision }: ProposalRow,
  change: ProposalEvent,
  { kind, id: actorId }: Author,
  now: number,
  reason?: string,
): Promise<void> => {
  await addToOutboxByPrisma(tx, LANE, decisionChanges, [
    {
      key: `${projectId}:${decision.id}`,
      value: {
        v: 1,
        projectId,
        decisionId: decision.id,
        decisionKey: decision.key,
        version: decision.version,
        change,
        status: decision.status,
        changedBy: { kind, id: actorId },
        proposal: { id, revision },
        ...(reason !== undefined && { reason }),
        at: new Date(now).toISOString(),
      },
    },
  ])
}

/** The people behind an actor: none for a key without an owner. */
export const personOf = async (
  tx: Pick<Database['prisma'], 'apiKey'>,
  { kind, id }: Author,
): Promise<string | null> => {
  if (kind === 'user') return id
  const key = await tx.apiKey.findUnique({ where: { id }, select: { ownerId: true } })
  return key?.ownerId ?? null
}
