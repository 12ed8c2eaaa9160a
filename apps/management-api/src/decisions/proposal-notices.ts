import type { Prisma } from '@waymark/database'
import { v7 as uuidv7 } from 'uuid'
import { namesOf } from '../audit/actor-names.ts'
import type { Author } from './decision-rows.ts'
import { type ProposalRow, personOf, standingOf } from './proposal-rows.ts'

type Transaction = Prisma.TransactionClient

/** What an email about a proposal says. */
export type NoticeKind = 'proposed' | 'rejected' | 'applied' | 'failed' | 'bypassed'

/** Most people who get an email about a proposal. */
const MAX_RECIPIENTS = 50

/** Queues emails to those who may approve a proposal. */
export const askApprovers = async (tx: Transaction, proposal: ProposalRow, actor: Author): Promise<void> => {
  const { needed } = await standingOf(tx, proposal)
  const roles = [...new Set(needed.flatMap((one) => one.roles))]
  await queue(tx, proposal, 'proposed', actor, proposal.comment, {
    role: { in: roles },
    userId: { notIn: proposal.authors },
  })
}

/** Queues an email to the member who proposed a change, or owns the key that did, about what became of it. */
export const tellAuthor = async (
  tx: Transaction,
  proposal: ProposalRow,
  kind: Exclude<NoticeKind, 'proposed' | 'bypassed'>,
  actor: Author,
  comment: string | null,
): Promise<void> => {
  const userId = await personOf(tx, { kind: proposal.proposedByKind, id: proposal.proposedById })
  if (userId !== null && userId !== actor.id) await queue(tx, proposal, kind, actor, comment, { userId })
}

/** Queues emails to all owners of the project about a change without its approvals. */
export const tellOwners = (
  tx: Transaction,
  proposal: ProposalRow,
  actor: Author,
  reason: string,
): Promise<void> => queue(tx, proposal, 'bypassed', actor, reason, { role: 'owner' })

const queue = async (
  tx: Transaction,
  { id: proposalId, projectId }: ProposalRow,
  kind: NoticeKind,
  { id: actorId, kind: actorKind }: Author,
  comment: string | null,
  who: Prisma.ProjectMemberWhereInput,
): Promise<void> => {
  const members = await tx.projectMember.findMany({
    where: { projectId, ...who },
    select: { user: { select: { email: true } } },
    orderBy: { userId: 'asc' },
    take: MAX_RECIPIENTS,
  })
  const names = await namesOf(tx, projectId, [actorId])
  const actor = names.get(actorId) ?? (actorKind === 'system' ? 'Waymark' : 'a former member')
  await tx.proposalNotice.createMany({
    data: members.map(({ user }) => ({
      id: uuidv7(),
      proposalId,
      kind,
      recipient: user.email,
      actor,
      comment,
    })),
  })
}
