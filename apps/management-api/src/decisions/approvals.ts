import { AppError } from '@waymark/contracts/app-error'
import { knownSettings } from '@waymark/contracts/project-settings'
import type { Prisma } from '@waymark/database'
import {
  affectedEnvironments,
  approvalsFor,
  type DecisionContent,
  isInactiveDraft,
  type NeededApproval,
} from '@waymark/domain/decision'
import { environmentsOf } from '../environments/environments.ts'

type Transaction = Prisma.TransactionClient

type Tables = Pick<Transaction, 'environment' | 'decision' | 'decisionProposal'>

/** The environments that a change affects. `also`: one that it affects otherwise than by status and definition. */
export const affectedBy = async (
  tx: Tables,
  projectId: string,
  key: string,
  before: DecisionContent | null,
  after: DecisionContent,
  also?: string,
): Promise<string[]> => {
  const isDraft = before !== null && isInactiveDraft(before)
  const isPrerequisite = isDraft && (await isDependedOn(tx, projectId, key))
  const environments = await environmentsOf(tx, projectId)
  const affected = affectedEnvironments(environments, before, after, { isPrerequisite })
  return also === undefined || affected.includes(also) ? affected : [...affected, also]
}

/** Whether a decision that is more than a draft, or a proposal of one, has the decision as a prerequisite. */
const isDependedOn = async (tx: Tables, projectId: string, key: string): Promise<boolean> => {
  const decisions = await tx.decision.findMany({
    where: { projectId, status: { not: 'archived' } },
    select: { status: true, definition: true },
  })
  const proposals = await tx.decisionProposal.findMany({
    where: { projectId, status: 'open' },
    select: { decisionStatus: true, definition: true },
  })
  const contents = [
    ...decisions,
    ...proposals.map(({ decisionStatus: status, definition }) => ({ status, definition })),
  ] as unknown as DecisionContent[]
  return contents.some(
    (content) =>
      !isInactiveDraft(content) &&
      [content.definition, ...Object.values(content.definition.environments ?? {})]
        .flatMap(({ rules }) => rules)
        .some(({ prerequisites }) => prerequisites.some(({ decision }) => decision === key)),
  )
}

/** The approvals that the settings of a project require of a change. */
export const neededApprovals = async (
  tx: Pick<Transaction, 'project'>,
  projectId: string,
  affected: readonly string[],
): Promise<NeededApproval[]> => {
  const { settings } = await tx.project.findUniqueOrThrow({ where: { id: projectId } })
  return approvalsFor(knownSettings(settings).approvals, affected)
}

/** Refuses a change that needs approvals. @throws AppError forbidden that says how to propose it */
export const requireNoApproval = async (
  tx: Pick<Transaction, 'project'>,
  projectId: string,
  key: string,
  affected: readonly string[],
): Promise<void> => {
  if (affected.length === 0) return
  const needed = await neededApprovals(tx, projectId, affected)
  if (needed.length === 0) return
  const where = needed.flatMap(({ environments }) => environments).join(', ')
  throw new AppError(
    'forbidden',
    `Changes of decisions in ${where} need approvals: propose it (POST decisions/${key}/proposals). ` +
      'A new decision is created as a draft first',
    { code: 'approval_required' },
  )
}
