import { forgotPassword, resetPassword, sendVerification, verifyEmail } from '@waymark/contracts'
import { comparableAddress } from '@waymark/domain'
import type { Route } from '@waymark/service-kit'
import type { ManagementDeps } from '../management-deps.ts'
import { queueAccountMail, requestPasswordReset } from './account-mail-queries.ts'
import { claimEmailedLink, confirmAddress, endSignIns, findEmailedLink } from './account-mails.ts'
import { removeUnconfirmedSetUp } from './unconfirmed-account.ts'

/** Forgotten passwords and unconfirmed addresses: requests for an email, and what its link does. */
export const recoverAccountRoutes = ({
  accountRoutes,
  accountLimits,
  passwords,
  auditLog,
  db,
  clock,
}: ManagementDeps): Route[] => [
  accountRoutes.open(forgotPassword, async ({ body, client }) => {
    const email = comparableAddress(body.email)
    await accountLimits.countResetRequest(client.address)
    await requestPasswordReset(db, email)
    return { status: 202 }
  }),

  accountRoutes.open(resetPassword, async ({ body: { token, password }, client }) => {
    await accountLimits.countSignIn(client.address)
    const link = await findEmailedLink({ db, clock }, 'reset_password', token)
    const { userId: id, email } = link
    await passwords.requireUncommon(password, email, 'password')
    const passwordHash = await passwords.hash(password)
    const removed = await db.prisma.$transaction(async (tx) => {
      // The user is locked first, as by a changed password, so that the two cannot deadlock.
      const { emailVerifiedAt } = await tx.user.update({ where: { id }, data: { passwordHash } })
      const now = new Date(clock())
      await claimEmailedLink(tx, link)
      await confirmAddress(tx, id, now)
      await endSignIns(tx, { id, email })
      return emailVerifiedAt === null ? removeUnconfirmedSetUp(tx, { id, email }, now) : []
    })
    await accountLimits.forgetFailures(email, client.address)
    const body = Object.fromEntries(removed.map((kind) => [kind, null]))
    await auditLog.recordOfUser(id, { operation: resetPassword.id, body, client })
    return { status: 204 }
  }),

  accountRoutes.signedIn(sendVerification, async ({ session: { user }, client }) => {
    if (user.emailVerifiedAt) return { status: 202 }
    await accountLimits.countVerification(user.id, client.address)
    await queueAccountMail(db.prisma, user, 'verify_email')
    await auditLog.recordOfUser(user.id, { operation: sendVerification.id, client })
    return { status: 202 }
  }),

  accountRoutes.open(verifyEmail, async ({ body: { token }, client }) => {
    await accountLimits.countSignIn(client.address)
    const link = await findEmailedLink({ db, clock }, 'verify_email', token)
    await db.prisma.$transaction(async (tx) => {
      await claimEmailedLink(tx, link)
      await confirmAddress(tx, link.userId, new Date(clock()))
    })
    await auditLog.recordOfUser(link.userId, { operation: verifyEmail.id, client })
    return { status: 204 }
  }),
]
