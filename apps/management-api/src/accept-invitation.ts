import { type Acceptance, AppError, acceptInvitation } from '@waymark/contracts'
import type { Prisma } from '@waymark/database'
import { hashToken, strongerRole } from '@waymark/domain'
import type { Platform, Route } from '@waymark/service-kit'
import type { AccountLimits } from './account-limits.ts'
import type { AccountRoutes } from './account-route.ts'
import type { AuditLog } from './audit-log.ts'
import { createUser, type NewUser } from './create-account.ts'
import type { Passwords } from './passwords.ts'
import { readAccount, roleOf } from './read-account.ts'
import type { Sessions } from './sessions.ts'
import { unprocessable } from './validation.ts'

type Deps = Pick<Platform, 'db' | 'clock'> & {
  accountRoutes: AccountRoutes
  accountLimits: AccountLimits
  passwords: Passwords
  sessions: Sessions
  auditLog: AuditLog
}
type Invitation = Prisma.InvitationGetPayload<object>

/** Becoming a member by invitation: as somebody who is signed in, or as somebody new. */
export const acceptInvitationRoute = ({
  accountRoutes,
  accountLimits,
  passwords,
  sessions,
  auditLog,
  db,
  clock,
}: Deps): Route => {
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

  const newUserOf = async (
    { email }: Invitation,
    { name, password }: Acceptance,
    address: string,
  ): Promise<NewUser> => {
    if (name === undefined || password === undefined) {
      throw new AppError('unauthorized', 'Sign in with the invited address, or send a name and a password')
    }
    await passwords.requireUncommon(password, email, 'password')
    await accountLimits.countRegistration(address)
    return { email, name, passwordHash: await passwords.hash(password) }
  }

  return accountRoutes.open(acceptInvitation, async ({ body, client }, findSession) => {
    await accountLimits.countSignIn(client.address)
    const session = await findSession()
    const invitation = await findOpen(body.token)
    if (session && session.user.email !== invitation.email)
      throw unprocessable('token', 'other_user', 'is for another email address than that which is signed in')
    const newUser = session ? undefined : await newUserOf(invitation, body, client.address)

    const { user, created } = await db.prisma.$transaction(async (tx) => {
      await claim(tx, invitation)
      const created = newUser && (await createUser(tx, newUser))
      const accepting = created ?? session?.user
      if (!accepting) throw new Error('neither a session nor a new user')
      await join(tx, invitation, accepting.id)
      return { user: accepting, created }
    })
    const token = created && (await sessions.start(created, client))
    await auditLog.record(invitation.projectId, {
      actor: { kind: 'user', id: user.id },
      operation: acceptInvitation.id,
      resourceId: invitation.id,
      client,
    })
    return { body: await readAccount(db, user), ...(token !== undefined && { token }) }
  })
}

const notOpen = (): AppError =>
  new AppError('not_found', 'There is no such invitation, or it has been used, revoked or has expired')
