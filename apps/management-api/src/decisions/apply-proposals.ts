import { AppError } from '@waymark/contracts/app-error'
import type { Prisma } from '@waymark/database'
import { SYSTEM } from '@waymark/pipeline'
import { drain, type Loop, type Platform } from '@waymark/service-kit'
import { auditInTransaction } from '../audit/audit-log.ts'
import type { Quotas } from '../quotas.ts'
import { lockDecisions } from './decision-rows.ts'
import { tellAuthor } from './proposal-notices.ts'
import { findDueProposals } from './proposal-queries.ts'
import {
  applyIn,
  finish,
  isOutdated,
  type ProposalRow,
  publish,
  standingOf,
  WITH_REVIEWS,
} from './proposal-rows.ts'
import { REFUSALS, reasonOf } from './refusals.ts'

const INTERVAL_MS = 1_000
/** Most proposals of one batch. */
const BATCH = 100

type ApplyDeps = Pick<Platform, 'db' | 'clock'> & { quotas: Quotas }

/** Applies proposals whose time has come. Every process does: a lock on the decisions of a project has one of them do it. */
export const applyProposals = (deps: ApplyDeps): Loop =>
  drain('proposals', INTERVAL_MS, () => applyDueProposals(deps))

/**
 * Applies a batch of the proposals that are due. After an error that is no refusal, one is tried again in the next run.
 * @returns the number of proposals in the batch
 * @throws the first such error, after the other proposals
 */
export const applyDueProposals = async (deps: ApplyDeps): Promise<number> => {
  const ids = await findDueProposals(deps.db.prisma, new Date(deps.clock()), BATCH)
  const errors: unknown[] = []
  for (const id of ids) await applyProposal(deps, id).catch((error) => errors.push(error))
  if (errors.length > 0) throw errors[0]
  return ids.length
}

/** Applies a proposal that is due, or ends it when it cannot be applied. Does nothing when another process has. */
export const applyProposal = async ({ db, quotas, clock }: ApplyDeps, id: string): Promise<void> => {
  const now = clock()
  const found = await db.prisma.decisionProposal.findUnique({ where: { id }, select: { projectId: true } })
  if (!found) return
  const { projectId } = found
  const findDue = (tx: Prisma.TransactionClient) =>
    tx.decisionProposal.findFirst({
      where: { id, status: 'open', dueAt: { lte: new Date(now) } },
      include: WITH_REVIEWS,
    })
  try {
    // The new version and the end of the proposal are one transaction, so that it is applied once.
    await db.prisma.$transaction(async (tx) => {
      await lockDecisions(tx, projectId)
      const proposal = await findDue(tx)
      if (proposal) await applyOrEnd(tx, proposal, quotas, now)
    })
  } catch (error) {
    if (!(error instanceof AppError && REFUSALS.has(error.code))) throw error
    await db.prisma.$transaction(async (tx) => {
      await lockDecisions(tx, projectId)
      const proposal = await findDue(tx)
      if (proposal) await fail(tx, proposal, reasonOf(error), now)
    })
  }
}

const applyOrEnd = async (
  tx: Prisma.TransactionClient,
  proposal: ProposalRow,
  quotas: Quotas,
  now: number,
): Promise<void> => {
  const { approved, counting } = await standingOf(tx, proposal)
  if (!approved) {
    // Without a time it can still get its approvals.
    if (proposal.at === null)
      await tx.decisionProposal.update({ where: { id: proposal.id }, data: { dueAt: null } })
    else
      await fail(
        tx,
        proposal,
        isOutdated(proposal)
          ? `There is a newer version than ${proposal.baseVersion}, which withdrew its approvals`
          : 'It did not have its approvals at its time',
        now,
      )
    return
  }
  const approvals = proposal.reviews
    .filter((review) => counting.has(review.id))
    .map(({ reviewerId: by, createdAt: at }) => ({ by, at: at.toISOString() }))
  await applyIn(tx, proposal, quotas, now, { change: 'approved', evidence: { approvals } })
  await tellAuthor(tx, proposal, 'applied', SYSTEM, null)
  await auditInTransaction(tx, proposal.projectId, {
    operation: 'applyProposal',
    resourceId: proposal.decision.key,
    at: new Date(now),
  })
}

const fail = async (
  tx: Prisma.TransactionClient,
  proposal: ProposalRow,
  error: string,
  now: number,
): Promise<void> => {
  await finish(tx, proposal.id, 'failed', now, { error })
  await tellAuthor(tx, proposal, 'failed', SYSTEM, error)
  await publish(tx, proposal, 'proposal_failed', SYSTEM, now, error)
}
