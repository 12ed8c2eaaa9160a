import { AppError } from '@waymark/contracts'
import type { Prisma } from '@waymark/database'
import { hashToken, strongerRole } from '@waymark/domain'
import type { Platform } from '@waymark/service-kit'
import { roleOf } from '../accounts/read-account.ts'

type Invitation = Prisma.InvitationGetPayload<object>

/** Finding the invitation of a token, and accepting it for a user. */
export const createInvitationClaims = ({ db, clock }: Pick<Platform, 'db' | 'clock'>) => {
  const findOpen = async (token: string): Promise<Invitation> => {
    const hash = hashToken(token)
    const invitation =
      hash &&
      (await db.prisma.invitation.findFirst({
        where: {
          tokenHash: new Uint8Array(hash),
          acceptedAt: null,
          revokedAt: null,
          expiresAt: { gt: new Date(clock()) },
          project: { archivedAt: null },
        },
      }))
    if (!invitation) throw notOpen()
    return invitation
  }

  // Of two who accept at once the second waits for the row, and then finds it accepted.
  const claim = async (tx: Prisma.TransactionClient, { id, projectId }: Invitation): Promise<void> => {
    const [project] = await tx.$queryRaw<{ archived_at: Date | null }[]>`
      SELECT archived_at FROM core.projects WHERE id = ${projectId}::uuid FOR NO KEY UPDATE`
    const { count } = await tx.invitation.updateMany({
      where: { id, acceptedAt: null, revokedAt: null },
      data: { acceptedAt: new Date(clock()) },
    })
    if (count === 0 || project?.archived_at !== null) throw notOpen()
  }

  const join = async (tx: Prisma.TransactionClient, { projectId, role }: Invitation, userId: string) => {
    const key = { projectId_userId: { projectId, userId } }
    const member = await tx.projectMember.findUnique({ where: key })
    if (!member) await tx.projectMember.create({ data: { projectId, userId, role } })
    else
      await tx.projectMember.update({
        where: key,
        data: { role: strongerRole(roleOf(member.role), roleOf(role)) },
      })
  }

  return {
    /** @throws AppError not_found when no invitation that can be accepted has the token */
    find: findOpen,
    /** Takes an invitation, once. @throws AppError not_found when it cannot be accepted any more */
    claim,
    /** Makes a user the member that the invitation says. */
    join,
  }
}

export type InvitationClaims = ReturnType<typeof createInvitationClaims>

const notOpen = (): AppError =>
  new AppError('not_found', 'The invitation does not exist, was used or revoked, or has expired')
