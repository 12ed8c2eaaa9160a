import type { AccountMailKind } from '@waymark/contracts/account-mail'
import type { Prisma } from '@waymark/database'
import { hashToken } from '@waymark/domain/account'
import { everyMs, type Loop, type Platform } from '@waymark/service-kit'
import { unprocessable } from '../http/validation.ts'
import { queueAccountMail, resolvePasswordResets } from './account-mail-queries.ts'

const RESOLVE_INTERVAL_MS = 1_000

type Tx = Prisma.TransactionClient
type LinkKind = Extract<AccountMailKind, 'reset_password' | 'verify_email'>
/** An emailed link that can be used: its row and its user. */
type EmailedLink = { id: string; userId: string; email: string; passwordHash: string }

/** Resolves requested password resets outside of their requests, so that the time of an answer reveals nothing. */
export const passwordResetLoop = ({ db }: Pick<Platform, 'db'>): Loop =>
  everyMs('password-resets', RESOLVE_INTERVAL_MS, () => resolvePasswordResets(db))

/**
 * The link with a token.
 * @throws AppError unprocessable when it was used, has expired or never existed
 */
export const findEmailedLink = async (
  { db, clock }: Pick<Platform, 'db' | 'clock'>,
  kind: LinkKind,
  token: string,
): Promise<EmailedLink> => {
  const hash = hashToken(token)
  const found =
    hash &&
    (await db.prisma.accountMail.findFirst({
      where: { kind, tokenHash: new Uint8Array(hash), tokenExpiresAt: { gt: new Date(clock()) } },
      include: { user: true },
    }))
  if (!found?.user) throw linkNotValid()
  const { id: userId, email, passwordHash } = found.user
  return { id: found.id, userId, email, passwordHash }
}

/** Uses a link up. @throws AppError unprocessable when a concurrent request was first */
export const claimEmailedLink = async (tx: Tx, { id }: EmailedLink): Promise<void> => {
  const { count } = await tx.accountMail.deleteMany({ where: { id } })
  if (count === 0) throw linkNotValid()
}

const linkNotValid = () =>
  unprocessable(
    'token',
    'single_use',
    'is not that of a valid link: it was used, has expired or is not complete; request another email',
  )

/** Confirms the address of a user, unless it was confirmed before. */
export const confirmAddress = async (tx: Tx, userId: string, at: Date): Promise<void> => {
  await tx.user.updateMany({ where: { id: userId, emailVerifiedAt: null }, data: { emailVerifiedAt: at } })
}

/**
 * Ends a user's sessions after a change of their password, makes emailed links for a reset invalid and notifies the user.
 * A reset also revokes access tokens, which someone else may have created.
 * @param exceptSessionId the session that made the change; undefined for a reset
 */
export const endSignIns = async (
  tx: Tx,
  user: { id: string; email: string },
  exceptSessionId?: string,
): Promise<void> => {
  const others = exceptSessionId === undefined ? {} : { id: { not: exceptSessionId } }
  if (exceptSessionId === undefined) await tx.accessToken.deleteMany({ where: { userId: user.id } })
  // Before sessions: a sign-in that is being finished starts one.
  await tx.signInChallenge.deleteMany({ where: { userId: user.id } })
  await tx.session.deleteMany({ where: { userId: user.id, ...others } })
  await tx.accountMail.deleteMany({ where: { userId: user.id, kind: 'reset_password' } })
  await queueAccountMail(tx, user, 'password_changed')
}
