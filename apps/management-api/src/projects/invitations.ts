import { AppError } from '@waymark/contracts/app-error'
import {
  type Acceptance,
  acceptInvitation,
  createInvitation,
  InvitationView,
  listInvitations,
  revokeInvitation,
} from '@waymark/contracts/http/invitations'
import { pick } from '@waymark/contracts/http/pick'
import type { Prisma } from '@waymark/database'
import { generateToken } from '@waymark/domain/account'
import { comparableAddress } from '@waymark/domain/email'
import type { Route } from '@waymark/service-kit'
import { v7 as uuidv7 } from 'uuid'
import { createUser, type NewUser, registrationClosed } from '../accounts/create-account.ts'
import { readAccount } from '../accounts/read-account.ts'
import { coversProject } from '../accounts/session-queries.ts'
import { ownerFor } from '../api-keys/key-owners.ts'
import { refuseProviderSession } from '../http/account-route.ts'
import { pageOf } from '../http/page.ts'
import { refuseAccessToken } from '../http/session-cookie.ts'
import { requireFound, requireId, unprocessable } from '../http/validation.ts'
import type { ManagementDeps } from '../management-deps.ts'
import { requireWithinQuota } from '../quotas.ts'
import { requireOwnRole } from './members.ts'

/** How long an invitation can be accepted, in ms. */
const INVITATION_MS = 7 * 24 * 3_600_000

type Invitation = Prisma.InvitationGetPayload<object>

/** Invitations to a project. The token is shown once, in the answer that creates it. */
export const invitationRoutes = ({ projectRoute, db, clock, quotas }: ManagementDeps): Route[] => [
  projectRoute(createInvitation, async ({ projectId, actor, body: { role, ...body } }) => {
    requireOwnRole(actor, role)
    const email = comparableAddress(body.email)
    const { token, hash } = generateToken()
    const now = clock()
    const invitation = await db.prisma.$transaction(async (tx) => {
      const invitedBy = await ownerFor(tx, projectId, actor)
      if (await tx.projectMember.findFirst({ where: { projectId, user: { email } } }))
        throw unprocessable('email', 'member', 'belongs to a member already')
      await tx.invitation.updateMany({
        where: { projectId, email, acceptedAt: null, revokedAt: null },
        data: { revokedAt: new Date(now) },
      })
      const pending = { projectId, acceptedAt: null, revokedAt: null, expiresAt: { gt: new Date(now) } }
      const members = await tx.projectMember.count({ where: { projectId } })
      const invited = await tx.invitation.count({ where: pending })
      requireWithinQuota(quotas, 'members', members + invited + 1)
      return tx.invitation.create({
        data: {
          id: uuidv7(),
          projectId,
          email,
          role,
          tokenHash: new Uint8Array(hash),
          invitedBy,
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
      (page) => db.prisma.invitation.findMany(page({ projectId })),
      (invitation) => view(invitation, clock()),
    ),
  })),

  projectRoute(revokeInvitation, async ({ projectId, id, requireMatch }) => {
    const found = requireFound(
      await db.prisma.invitation.findFirst({ where: { id: requireId(id), projectId } }),
    )
    requireMatch(view(found, clock()))
    // An accepted or revoked invitation does not change.
    await db.prisma.invitation.updateMany({
      where: { id: found.id, acceptedAt: null, revokedAt: null },
      data: { revokedAt: new Date(clock()) },
    })
    return { status: 204 }
  }),
]

const view = (invitation: Invitation, now: number) => ({
  ...pick(invitation, InvitationView),
  status: statusOf(invitation, now),
})

const statusOf = ({ acceptedAt, revokedAt, expiresAt }: Invitation, now: number): string => {
  if (acceptedAt) return 'accepted'
  if (revokedAt) return 'revoked'
  return expiresAt.getTime() <= now ? 'expired' : 'pending'
}

/** Accepts an invitation, for the signed-in user or for a new one. */
export const acceptInvitationRoute = ({
  accountRoutes,
  accountLimits,
  passwords,
  sessions,
  auditLog,
  invitationClaims,
  registrationMode,
  db,
}: ManagementDeps): Route => {
  const newUserOf = async (
    { email }: Invitation,
    { name, password }: Acceptance,
    address: string,
  ): Promise<NewUser> => {
    if (name === undefined || password === undefined) {
      throw new AppError('unauthorized', 'Sign in with the invited address, or send a name and a password')
    }
    if (registrationMode === 'closed') throw registrationClosed()
    await passwords.requireUncommon(password, email, 'password')
    await accountLimits.countRegistration(address)
    return { email, name, passwordHash: await passwords.hash(password) }
  }

  return accountRoutes.open(acceptInvitation, async ({ body, client }, findSession) => {
    await accountLimits.countSignIn(client.address)
    const session = await findSession()
    if (session) refuseAccessToken(session)
    const invitation = await invitationClaims.find(body.token)
    if (session && session.user.email !== invitation.email)
      throw unprocessable(
        'token',
        'other_user',
        'is for another email address than that of the signed-in user',
      )
    // The tenant of a provider's session is the only one that it reaches.
    if (session && session.identityId !== null && !coversProject(session, invitation.projectId))
      refuseProviderSession(session)
    const newUser = session ? undefined : await newUserOf(invitation, body, client.address)

    const { user, created } = await db.prisma.$transaction(async (tx) => {
      await invitationClaims.claim(tx, invitation)
      const created = newUser && (await createUser(tx, newUser))
      const accepting = created ?? session?.user
      if (!accepting) throw new Error('neither a session nor a new user')
      await invitationClaims.join(tx, invitation, accepting.id)
      return { user: accepting, created }
    })
    const begun = created && (await sessions.startWithPassword(created, client))
    await auditLog.record(invitation.projectId, {
      actor: { kind: 'user', id: user.id },
      operation: acceptInvitation.id,
      resourceId: invitation.id,
      client,
    })
    return {
      body: await readAccount(
        db,
        {
          ...user,
          hasSecondFactor: session?.user.hasSecondFactor ?? false,
          meetsSecondFactor: session?.user.meetsSecondFactor ?? false,
        },
        session?.projectIds,
      ),
      ...(begun?.kind === 'session' && { token: begun.token }),
    }
  })
}
