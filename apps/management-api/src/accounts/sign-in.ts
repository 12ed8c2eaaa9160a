import { AppError } from '@waymark/contracts/app-error'
import { login, logout, register } from '@waymark/contracts/http/accounts'
import { comparableAddress } from '@waymark/domain/email'
import type { Route } from '@waymark/service-kit'
import type { Client } from '../http/request-parts.ts'
import { unprocessable } from '../http/validation.ts'
import type { ManagementDeps } from '../management-deps.ts'
import { createTenant, createUser, invitationRequired, registrationClosed } from './create-account.ts'
import { readAccount } from './read-account.ts'
import type { Session } from './session-queries.ts'

/** Registration, sign-in and sign-out. */
export const signInRoutes = ({
  accountRoutes,
  accountLimits,
  passwords,
  sessions,
  auditLog,
  invitationClaims,
  registrationMode,
  db,
}: ManagementDeps): Route[] => {
  const begin = async (
    user: Omit<Session['user'], 'hasSecondFactor' | 'meetsSecondFactor'> & { passwordHash: string },
    operation: string,
    client: Client,
  ) => {
    const begun = await sessions.startWithPassword(user, client)
    if (!begun) throw refused()
    const { token } = begun
    if (begun.kind === 'challenge')
      return {
        status: 202 as const,
        challenge: token,
        body: { secondFactor: ['code', 'recoveryCode'], expiresAt: begun.expiresAt },
      }
    const readBody = async () => {
      const session = await sessions.find(token)
      const account = { ...user, hasSecondFactor: false, meetsSecondFactor: false }
      return await readAccount(db, account, session?.projectIds)
    }
    const recorded = auditLog.recordOfUser(user.id, { operation, client })
    const [body] = await Promise.all([readBody(), recorded])
    return { status: 200 as const, token, body }
  }

  const findInvitation = async (token: string, email: string, tenantName: string | undefined) => {
    if (tenantName !== undefined)
      throw unprocessable('tenantName', 'exclusive', 'is only allowed without invitationToken; leave it out')
    const invitation = await invitationClaims.find(token)
    if (invitation.email !== email)
      throw unprocessable('email', 'other_user', 'must be the address that was invited')
    return invitation
  }

  return [
    accountRoutes.open(register, async ({ body, client }) => {
      const { name, password, tenantName, invitationToken } = body
      if (registrationMode === 'closed') throw registrationClosed()
      if (registrationMode === 'invite' && invitationToken === undefined) throw invitationRequired()
      const email = comparableAddress(body.email)
      await passwords.requireUncommon(password, email, 'password')
      await accountLimits.countRegistration(client.address)
      const invitation =
        invitationToken === undefined ? undefined : await findInvitation(invitationToken, email, tenantName)
      const passwordHash = await passwords.hash(password)
      const user = await db.prisma.$transaction(async (tx) => {
        if (invitation) await invitationClaims.claim(tx, invitation)
        const created = await createUser(tx, { email, name, passwordHash })
        if (invitation) await invitationClaims.join(tx, invitation, created.id)
        else await createTenant(tx, created.id, tenantName ?? name)
        return created
      })
      const begun = await begin(user, register.id, client)
      if (begun.status === 202) throw new Error('A new account has no second factor, but was asked for one')
      return { ...begun, status: 201 }
    }),

    accountRoutes.open(login, async ({ body: { password, ...body }, client }) => {
      const email = comparableAddress(body.email)
      await accountLimits.countSignIn(client.address)
      // Read while the attempt is counted. Whoever awaits it gets its error.
      const finding = Promise.resolve(db.prisma.user.findUnique({ where: { email } }))
      finding.catch(() => {})
      const check = async () => passwords.verify(password, (await finding)?.passwordHash)
      const right = await accountLimits.attempt(email, client.address, check)
      const user = await finding
      if (!user || !right) throw refused()
      return begin(user, login.id, client)
    }),

    accountRoutes.signedIn(logout, async ({ session, client }) => {
      await db.prisma.session.deleteMany({ where: { id: session.id } })
      await auditLog.recordOfUser(session.user.id, { operation: logout.id, client })
      return { status: 204, token: null }
    }),
  ]
}

const refused = (): AppError => new AppError('unauthorized', 'The email address or the password is wrong')
