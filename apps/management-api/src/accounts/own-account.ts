import {
  changePassword,
  endOtherSessions,
  endSession,
  getAccount,
  listSessions,
  SessionView,
} from '@waymark/contracts/http/accounts'
import { pick } from '@waymark/contracts/http/pick'
import type { Route } from '@waymark/service-kit'
import { pageOf } from '../http/page.ts'
import { requireFound, requireId, unprocessable } from '../http/validation.ts'
import type { ManagementDeps } from '../management-deps.ts'
import { endSignIns } from './account-mails.ts'
import { readAccount } from './read-account.ts'
import { sameSignIn } from './session-queries.ts'

/** The account and the sessions of the signed-in user. */
export const ownAccountRoutes = ({
  accountRoutes,
  accountLimits,
  passwords,
  auditLog,
  db,
  clock,
}: ManagementDeps): Route[] => [
  accountRoutes.signedIn(getAccount, async ({ session }) => ({
    body: await readAccount(db, session.user, session.projectIds),
  })),

  accountRoutes.signedIn(listSessions, async ({ session, query }) => ({
    body: await pageOf(
      query,
      (page) =>
        db.prisma.session.findMany(page({ ...sameSignIn(session), expiresAt: { gt: new Date(clock()) } })),
      (found) => ({ ...pick(found, SessionView), current: found.id === session.id }),
    ),
  })),

  accountRoutes.signedIn(endSession, async ({ session, id, client }) => {
    const where = { id: requireId(id), ...sameSignIn(session) }
    const { count } = await db.prisma.session.deleteMany({ where })
    requireFound(count > 0 || null)
    await auditLog.recordOfUser(session.user.id, { operation: endSession.id, resourceId: id, client })
    return { status: 204, ...(id === session.id && { token: null }) }
  }),

  accountRoutes.signedIn(endOtherSessions, async ({ session, query, client }) => {
    const { id } = session.user
    await db.prisma.$transaction(async (tx) => {
      await tx.session.deleteMany({ where: { ...sameSignIn(session), id: { not: session.id } } })
      if (query.accessTokens === 'revoke') await tx.accessToken.deleteMany({ where: sameSignIn(session) })
    })
    await auditLog.recordOfUser(id, { operation: endOtherSessions.id, client })
    return { status: 204 }
  }),

  accountRoutes.signedIn(changePassword, async ({ session, body, client }) => {
    const { id, email } = session.user
    await passwords.requireUncommon(body.newPassword, email, 'newPassword')
    await accountLimits.countSignIn(client.address)
    const { passwordHash } = requireFound(await db.prisma.user.findUnique({ where: { id } }))
    const wrong = () => unprocessable('currentPassword', 'mismatch', 'is not the current password')
    const check = () => passwords.verify(body.currentPassword, passwordHash)
    if (!(await accountLimits.attempt(email, client.address, check))) throw wrong()
    const newHash = await passwords.hash(body.newPassword)
    await db.prisma.$transaction(async (tx) => {
      // A concurrent change wins: the verified password is no longer the current one.
      const { count } = await tx.user.updateMany({
        where: { id, passwordHash },
        data: { passwordHash: newHash },
      })
      if (count === 0) throw wrong()
      await endSignIns(tx, session.user, session.id)
    })
    await auditLog.recordOfUser(id, { operation: changePassword.id, client })
    return { status: 204 }
  }),
]
