import {
  changeMember,
  leaveProject,
  listMembers,
  removeMember,
  resetSecondFactor,
} from '@waymark/contracts/http/members'
import type { ProjectRole } from '@waymark/contracts/project-role'
import type { Prisma } from '@waymark/database'
import { roleAllows, roleOfScopes } from '@waymark/domain/account'
import type { Route } from '@waymark/service-kit'
import { roleOf } from '../accounts/read-account.ts'
import { dropSecondFactor, hasSetUp } from '../accounts/second-factors.ts'
import { actorOf, coversProject } from '../accounts/session-queries.ts'
import { lockProjectMembers, ownerFor, revokeKeysOf } from '../api-keys/key-owners.ts'
import { pageOf } from '../http/page.ts'
import { type Actor, lacksRole } from '../http/project-route.ts'
import { requireFound, requireId, unprocessable } from '../http/validation.ts'
import type { ManagementDeps } from '../management-deps.ts'

const MEMBER = {
  project: { select: { tenantId: true } },
  user: { include: { secondFactor: { select: { setUpAt: true } } } },
} as const
type Member = Prisma.ProjectMemberGetPayload<{ include: typeof MEMBER }>

/** The members of a project. Its member list is locked, so that two changes cannot remove the last two owners. */
export const memberRoutes = ({
  projectRoute,
  accountRoutes,
  auditLog,
  db,
  clock,
}: ManagementDeps): Route[] => [
  projectRoute(listMembers, async ({ projectId, query }) => ({
    body: await pageOf(
      query,
      async (_page, { before, take }) => {
        const found = await db.prisma.projectMember.findMany({
          where: { projectId, ...(before !== undefined && { userId: { lt: before } }) },
          include: MEMBER,
          orderBy: { userId: 'desc' },
          take,
        })
        return found.map(view)
      },
      (member) => member,
    ),
  })),

  accountRoutes.signedIn(leaveProject, async ({ session, projectId, client, checkEffects }) => {
    const { id } = session.user
    requireFound(coversProject(session, projectId) || null)
    await db.prisma.$transaction(async (tx) => {
      await lockProjectMembers(tx, requireId(projectId))
      const member = requireFound(await findMember(tx, projectId, id))
      await requireOtherOwner(tx, member)
      checkEffects(view(member))
      await revokeKeysOf(tx, member, clock())
      await removeFrom(tx, member, clock())
    })
    await auditLog.record(projectId, {
      actor: actorOf(session),
      operation: leaveProject.id,
      resourceId: id,
      client,
    })
    return { status: 204 }
  }),

  projectRoute(changeMember, async ({ projectId, actor, id, body: { role }, requireMatch, checkEffects }) => {
    requireOwnRole(actor, role)
    const changed = await db.prisma.$transaction(async (tx) => {
      await lockProjectMembers(tx, requireId(projectId))
      const member = requireFound(await findMember(tx, projectId, requireId(id)))
      requireOwnRole(actor, roleOf(member.role))
      requireMatch(view(member))
      checkEffects(view(member))
      if (role === member.role) return member
      await requireOtherOwner(tx, member)
      await revokeInvitations(tx, member, clock())
      await revokeKeysOf(tx, member, clock(), role)
      return tx.projectMember.update({
        where: { projectId_userId: { projectId, userId: member.userId } },
        data: { role },
        include: MEMBER,
      })
    })
    return { body: view(changed) }
  }),

  projectRoute(removeMember, async ({ projectId, actor, id, query, requireMatch, checkEffects }) => {
    await db.prisma.$transaction(async (tx) => {
      await lockProjectMembers(tx, requireId(projectId))
      const member = requireFound(await findMember(tx, projectId, requireId(id)))
      requireOwnRole(actor, roleOf(member.role))
      requireMatch(view(member))
      await requireOtherOwner(tx, member)
      checkEffects(view(member))
      if (query.apiKeys === 'handOver') {
        const ownerId = await newOwnerFor(tx, member, actor)
        await tx.apiKey.updateMany({ where: { projectId, ownerId: member.userId }, data: { ownerId } })
      } else await revokeKeysOf(tx, member, clock())
      await removeFrom(tx, member, clock())
    })
    return { status: 204 }
  }),

  projectRoute(resetSecondFactor, async ({ projectId, actor, id, requireMatch }) => {
    if (id === actor.id)
      throw unprocessable(
        'id',
        'own_second_factor',
        'is your own: set up another on the page of your account',
      )
    await db.prisma.$transaction(async (tx) => {
      await lockProjectMembers(tx, requireId(projectId))
      const member = requireFound(await findMember(tx, projectId, requireId(id)))
      const { user, project } = member
      requireMatch(view(member))
      const elsewhere = { userId: user.id, project: { tenantId: { not: project.tenantId } } }
      if ((await tx.projectMember.count({ where: elsewhere })) > 0)
        throw unprocessable(
          'id',
          'other_tenant',
          'belongs to a member of other companies as well, whose second factor protects those: ask the operator of Waymark',
        )
      await dropSecondFactor(tx, user)
      await tx.signInChallenge.deleteMany({ where: { userId: user.id } })
      await tx.session.deleteMany({ where: { userId: user.id } })
    })
    return { status: 204 }
  }),
]

/** Refuses changes of roles above the actor's own; a key acts as an admin. @throws AppError forbidden */
export const requireOwnRole = (actor: Actor, role: ProjectRole): void => {
  const own = actor.kind === 'user' ? actor.role : roleOfScopes(actor.scopes)
  if (!own || !roleAllows(own, role)) throw lacksRole(role)
}

const newOwnerFor = async (
  tx: Prisma.TransactionClient,
  { projectId, userId }: Member,
  actor: Actor,
): Promise<string | null> => {
  const ownerId = await ownerFor(tx, projectId, actor)
  if (ownerId === userId)
    throw unprocessable(
      'apiKeys',
      'other_owner',
      'cannot be handOver when the member, or a key of theirs, asks: let another admin do it, or send revoke',
    )
  return ownerId
}

const findMember = (
  tx: Prisma.TransactionClient,
  projectId: string,
  userId: string,
): Promise<Member | null> =>
  tx.projectMember.findFirst({
    where: { projectId, userId, project: { archivedAt: null } },
    include: MEMBER,
  })

/** Whether someone else owns the member's project. */
export const hasOtherOwner = async (
  tx: Prisma.TransactionClient,
  { projectId, userId }: Pick<Member, 'projectId' | 'userId'>,
): Promise<boolean> =>
  (await tx.projectMember.findFirst({ where: { projectId, role: 'owner', userId: { not: userId } } })) !==
  null

const requireOtherOwner = async (tx: Prisma.TransactionClient, member: Member) => {
  if (member.role === 'owner' && !(await hasOtherOwner(tx, member)))
    throw unprocessable('role', 'last_owner', 'is that of the last owner: make another member an owner first')
}

type Leaving = { projectId: string; userId: string; user: { email: string } }

/** Ends a membership. Keys of the member are not revoked. */
export const removeFrom = async (
  tx: Prisma.TransactionClient,
  member: Leaving,
  now: number,
): Promise<void> => {
  const { projectId, userId } = member
  await revokeInvitations(tx, member, now)
  await leaveWebhooks(tx, member, now)
  await tx.projectMember.delete({ where: { projectId_userId: { projectId, userId } } })
}

// Webhooks belong to the project and keep sending. An owner gets one email for any number of webhooks.
const leaveWebhooks = async (
  tx: Prisma.TransactionClient,
  { projectId, userId }: Leaving,
  now: number,
): Promise<void> => {
  const where = { projectId, ownerId: userId, deletedAt: null }
  const first = await tx.webhook.findFirst({ where: { ...where, status: 'active' }, orderBy: { id: 'asc' } })
  await tx.webhook.updateMany({ where, data: { ownerId: null } })
  if (!first) return
  const notice = { noticeDueAt: new Date(now), noticeRecipient: null, noticeAttempts: 0 }
  await tx.webhook.update({ where: { id: first.id }, data: notice })
}

/** Revokes a member's invitations. Otherwise an older one would restore the membership or the role. */
export const revokeInvitations = (
  tx: Prisma.TransactionClient,
  { projectId, userId, user }: Leaving,
  now: number,
) =>
  tx.invitation.updateMany({
    where: {
      projectId,
      acceptedAt: null,
      revokedAt: null,
      OR: [{ invitedBy: userId }, { email: user.email }],
    },
    data: { revokedAt: new Date(now) },
  })

const view = ({ userId, role, createdAt, user: { email, name, secondFactor } }: Member) => ({
  id: userId,
  email,
  name,
  role: roleOf(role),
  hasSecondFactor: hasSetUp(secondFactor),
  createdAt,
})
