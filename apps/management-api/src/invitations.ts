import { createInvitation, listInvitations, revokeInvitation } from '@waymark/contracts'
import type { Prisma } from '@waymark/database'
import { generateToken } from '@waymark/domain'
import type { Platform, Route } from '@waymark/service-kit'
import { v7 as uuidv7 } from 'uuid'
import { requireOwnRole } from './members.ts'
import { pageOf } from './page.ts'
import type { ProjectRouteFactory } from './project-route.ts'
import { requireFound, requireId, unprocessable } from './validation.ts'

/** How long an invitation is good, in ms. */
const INVITATION_MS = 7 * 24 * 3_600_000

type Stored = Prisma.InvitationGetPayload<object>
type Deps = Pick<Platform, 'db' | 'clock'> & { projectRoute: ProjectRouteFactory }

/** Invitations to a project. The token is shown once, in the answer that creates it. */
export const invitationRoutes = ({ projectRoute, db, clock }: Deps): Route[] => [
  projectRoute(createInvitation, async ({ projectId, actor, body: { role, ...body } }) => {
    requireOwnRole(actor, role)
    const email = body.email.toLowerCase()
    const { token, hash } = generateToken()
    const now = clock()
    const invitation = await db.prisma.$transaction(async (tx) => {
      await tx.$queryRaw`SELECT 1 FROM core.projects WHERE id = ${projectId}::uuid FOR NO KEY UPDATE`
      if (await tx.projectMember.findFirst({ where: { projectId, user: { email } } }))
        throw unprocessable('email', 'member', 'belongs to a member already')
      await tx.invitation.updateMany({
        where: { projectId, email, acceptedAt: null, revokedAt: null },
        data: { revokedAt: new Date(now) },
      })
      return tx.invitation.create({
        data: {
          id: uuidv7(),
          projectId,
          email,
          role,
          tokenHash: new Uint8Array(hash),
          invitedBy: actor.kind === 'user' ? actor.id : null,
          createdAt: new Date(now),
          expiresAt: new Date(now + INVITATION_MS),
        },
      })
    })
    return { status: 201, body: { ...view(invitation, now), token } }
  }),

  projectRoute(listInvitations, async ({ projectId, query }) => ({
    body: await pageOf(
      query,
      (where, take) =>
        db.prisma.invitation.findMany({ where: { projectId, ...where }, orderBy: { id: 'desc' }, take }),
      (invitation) => view(invitation, clock()),
    ),
  })),

  projectRoute(revokeInvitation, async ({ projectId, id, requireMatch }) => {
    const found = requireFound(
      await db.prisma.invitation.findFirst({ where: { id: requireId(id), projectId } }),
    )
    requireMatch(view(found, clock()))
    // An invitation that was accepted, or revoked before, stays what it is.
    await db.prisma.invitation.updateMany({
      where: { id: found.id, acceptedAt: null, revokedAt: null },
      data: { revokedAt: new Date(clock()) },
    })
    return { status: 204 }
  }),
]

const view = (invitation: Stored, now: number) => {
  const { projectId: _projectId, tokenHash: _tokenHash, ...shown } = invitation
  return { ...shown, status: statusOf(invitation, now) }
}

const statusOf = ({ acceptedAt, revokedAt, expiresAt }: Stored, now: number): string => {
  if (acceptedAt) return 'accepted'
  if (revokedAt) return 'revoked'
  return expiresAt.getTime() <= now ? 'expired' : 'pending'
}
