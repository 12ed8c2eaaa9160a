import { AppError } from '@waymark/contracts/app-error'
import {
  forgotPassword,
  resetPassword,
  sendVerification,
  verifyEmail,
} from '@waymark/contracts/http/accounts'
import { comparableAddress } from '@waymark/domain/email'
import type { Route } from '@waymark/service-kit'
import { unprocessable } from '../http/validation.ts'
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

  accountRoutes.open(verifyEmail, async ({ body: { token, password }, client }, findSession) => {
    await accountLimits.countSignIn(client.address)
    const link = await findEmailedLink({ db, clock }, 'verify_email', token)
    const session = await findSession()
    // Someone else may have registered the address: the one who gets the email must not confirm what they set up.
    if (session?.kind !== 'session' || session.user.id !== link.userId) {
      if (password === undefined) throw passwordRequired()
      const check = () => passwords.verify(password, link.passwordHash)
      if (!(await accountLimits.attempt(link.email, client.address, check)))
        throw unprocessable('password', 'mismatch', 'is not the password of the account')
    }
    await db.prisma.$transaction(async (tx) => {
      await claimEmailedLink(tx, link)
      await confirmAddress(tx, link.userId, new Date(clock()))
    })
    await auditLog.recordOfUser(link.userId, { operation: verifyEmail.id, client })
    return { status: 204 }
  }),
]

const passwordRequired = (): AppError =>
  new AppError(
    'forbidden',
    'Sign in to the account in this browser, or send its password. If you have not registered, set a new password: ' +
      'POST /api/auth/forgot-password',
    { code: 'password_required' },
  )
