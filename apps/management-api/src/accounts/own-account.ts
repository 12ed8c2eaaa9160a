import { changePassword, endSession, getAccount, listSessions } from '@waymark/contracts'
import type { Platform, Route } from '@waymark/service-kit'
import type { AuditLog } from '../audit/audit-log.ts'
import type { AccountRoutes } from '../http/account-route.ts'
import { pageOf } from '../http/page.ts'
import { requireFound, requireId, unprocessable } from '../http/validation.ts'
import type { AccountLimits } from './account-limits.ts'
import type { Passwords } from './passwords.ts'
import { readAccount } from './read-account.ts'

type Deps = Pick<Platform, 'db' | 'clock'> & {
  accountRoutes: AccountRoutes
  accountLimits: AccountLimits
  passwords: Passwords
  auditLog: AuditLog
}

/** What somebody who is signed in does with their own account. */
export const ownAccountRoutes = ({
  accountRoutes,
  accountLimits,
  passwords,
  auditLog,
  db,
  clock,
}: Deps): Route[] => [
  accountRoutes.signedIn(getAccount, async ({ session }) => ({ body: await readAccount(db, session.user) })),

  accountRoutes.signedIn(listSessions, async ({ session, query }) => ({
    body: await pageOf(
      query,
      (where, take) =>
        db.prisma.session.findMany({
          where: { userId: session.user.id, expiresAt: { gt: new Date(clock()) }, ...where },
          omit: { tokenHash: true, userId: true },
          orderBy: { id: 'desc' },
          take,
        }),
      (found) => ({ ...found, current: found.id === session.id }),
    ),
  })),

  accountRoutes.signedIn(endSession, async ({ session, id, client }) => {
    const where = { id: requireId(id), userId: session.user.id }
    const { count } = await db.prisma.session.deleteMany({ where })
    requireFound(count > 0 || null)
    await auditLog.recordOfUser(session.user.id, { operation: endSession.id, resourceId: id, client })
    return { status: 204, ...(id === session.id && { token: null }) }
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
      // A change made meanwhile wins; what was verified is not the current password any more.
      const { count } = await tx.user.updateMany({
        where: { id, passwordHash },
        data: { passwordHash: newHash },
      })
      if (count === 0) throw wrong()
      await tx.session.deleteMany({ where: { userId: id, id: { not: session.id } } })
    })
    await auditLog.recordOfUser(id, { operation: changePassword.id, client })
    return { status: 204 }
  }),
]
