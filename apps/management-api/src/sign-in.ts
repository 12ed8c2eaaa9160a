import { AppError, login, logout, register } from '@waymark/contracts'
import type { Platform, Route } from '@waymark/service-kit'
import type { AccountLimits } from './account-limits.ts'
import type { AccountRoutes } from './account-route.ts'
import type { AuditLog } from './audit-log.ts'
import type { Client } from './client.ts'
import { createTenant, createUser } from './create-account.ts'
import type { Passwords } from './passwords.ts'
import { readAccount } from './read-account.ts'
import type { Sessions } from './sessions.ts'

type Deps = Pick<Platform, 'db'> & {
  accountRoutes: AccountRoutes
  accountLimits: AccountLimits
  passwords: Passwords
  sessions: Sessions
  auditLog: AuditLog
}

/** Getting in and out. */
export const signInRoutes = ({
  accountRoutes,
  accountLimits,
  passwords,
  sessions,
  auditLog,
  db,
}: Deps): Route[] => {
  const begin = async (
    user: Parameters<typeof readAccount>[1] & { passwordHash: string },
    operation: string,
    client: Client,
  ) => {
    const token = await sessions.start(user, client)
    if (token === undefined) throw refused()
    await auditLog.recordOfUser(user.id, { operation, client })
    return { token, body: await readAccount(db, user) }
  }

  return [
    accountRoutes.open(register, async ({ body: { name, password, tenantName, ...body }, client }) => {
      const email = body.email.toLowerCase()
      await passwords.requireUncommon(password, email, 'password')
      await accountLimits.countRegistration(client.address)
      const passwordHash = await passwords.hash(password)
      const user = await db.prisma.$transaction(async (tx) => {
        const created = await createUser(tx, { email, name, passwordHash })
        await createTenant(tx, created.id, tenantName ?? name)
        return created
      })
      return { status: 201, ...(await begin(user, register.id, client)) }
    }),

    accountRoutes.open(login, async ({ body: { password, ...body }, client }) => {
      const email = body.email.toLowerCase()
      await accountLimits.countSignIn(client.address)
      const user = await db.prisma.user.findUnique({ where: { email } })
      const check = () => passwords.verify(password, user?.passwordHash)
      const right = await accountLimits.attempt(email, client.address, check)
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
