import { AppError } from '@waymark/contracts/app-error'
import type { Prisma } from '@waymark/database'
import { hashToken, strongerRole } from '@waymark/domain/account'
import type { Platform } from '@waymark/service-kit'
import { roleOf } from '../accounts/read-account.ts'
import { lockRow } from '../lock-queries.ts'

type Invitation = Prisma.InvitationGetPayload<object>

/** Finds the invitation of a token and accepts it for a user. */
export const createInvitationClaims = ({ db, clock }: Pick<Platform, 'db' | 'clock'>) => ({
  /** @throws AppError not_found when no invitation that can be accepted has the token */
  find: async (token: string): Promise<Invitation> => {
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
  },

  /** Marks an invitation as accepted, once. @throws AppError not_found when it can no longer be accepted */
  claim: async (tx: Prisma.TransactionClient, { id, projectId }: Invitation): Promise<void> => {
    await lockRow(tx, 'core.projects', projectId, 'NO KEY UPDATE')
    const project = await tx.project.findUnique({ where: { id: projectId }, select: { archivedAt: true } })
    // The second of two concurrent acceptances waits for the row and then finds it accepted.
    const { count } = await tx.invitation.updateMany({
      where: { id, acceptedAt: null, revokedAt: null },
      data: { acceptedAt: new Date(clock()) },
    })
    if (count === 0 || project?.archivedAt !== null) throw notOpen()
  },

  /** Makes a user a member with the role of the invitation, unless their role is already stronger. */
  join: async (tx: Prisma.TransactionClient, { projectId, role }: Invitation, userId: string) => {
    const key = { projectId_userId: { projectId, userId } }
    const member = await tx.projectMember.findUnique({ where: key })
    if (!member) await tx.projectMember.create({ data: { projectId, userId, role } })
    else
      await tx.projectMember.update({
        where: key,
        data: { role: strongerRole(roleOf(member.role), roleOf(role)) },
      })
  },
})

export type InvitationClaims = ReturnType<typeof createInvitationClaims>

const notOpen = (): AppError =>
  new AppError('not_found', 'The invitation does not exist, was used or revoked, or has expired')
