import type { AccountMailKind } from '@waymark/contracts'
import type { Prisma } from '@waymark/database'
import { hashToken } from '@waymark/domain'
import { everyMs, type Loop, type Platform } from '@waymark/service-kit'
import { v7 as uuidv7 } from 'uuid'
import { unprocessable } from '../http/validation.ts'

/** Emails of a kind to a user per hour. More are not sent, so that an account cannot fill a stranger's mailbox. */
export const MAILS_PER_KIND_AND_HOUR = 5
const RESOLVE_INTERVAL_MS = 1_000

type Tx = Prisma.TransactionClient
type LinkKind = Extract<AccountMailKind, 'reset_password' | 'verify_email'>
/** An emailed link that can be used: its row and its user. */
type EmailedLink = { id: string; userId: string; email: string }

/** Queues an email to a user about their account. The email consumer sends it. */
export const queueAccountMail = async (
  tx: Pick<Tx, '$executeRaw'>,
  { id, email }: { id: string; email: string },
  kind: AccountMailKind,
): Promise<void> => {
  await tx.$executeRaw`
    INSERT INTO email.account_mails (id, kind, recipient, user_id, mail_due_at)
    SELECT ${uuidv7()}::uuid, ${kind}, ${email}, ${id}::uuid, now()
    WHERE (SELECT count(*) FROM email.account_mails
      WHERE user_id = ${id}::uuid AND kind = ${kind} AND created_at > now() - interval '1 hour') < ${MAILS_PER_KIND_AND_HOUR}`
}

const REQUEST_RESET = `INSERT INTO email.account_mails (id, kind, recipient) VALUES ($1, 'reset_password', $2)`

/** Stores a request for a password reset. It does the same work whether or not the address has an account. */
export const requestPasswordReset = async ({ pool }: Platform['db'], email: string): Promise<void> => {
  await pool.query({ name: 'request-password-reset', text: REQUEST_RESET, values: [uuidv7(), email] })
}

/** Resets of a user that were queued within an hour. */
const RECENT_RESETS = `
  SELECT count(*) FROM email.account_mails r
  WHERE r.user_id = u.id AND r.kind = 'reset_password' AND r.created_at > now() - interval '1 hour'`
const RESOLVE = `
  UPDATE email.account_mails m SET user_id = asked.user_id, mail_due_at = now()
  FROM (
    SELECT w.id, u.id AS user_id,
      row_number() OVER (PARTITION BY u.id ORDER BY w.created_at, w.id) + (${RECENT_RESETS}) AS nth
    FROM email.account_mails w JOIN core.users u ON u.email = w.recipient WHERE w.user_id IS NULL
  ) asked WHERE m.id = asked.id AND m.user_id IS NULL AND asked.nth <= $1`
const DROP = `
  DELETE FROM email.account_mails m
  WHERE m.user_id IS NULL
    AND NOT EXISTS (SELECT FROM core.users u WHERE u.email = m.recipient AND (${RECENT_RESETS}) < $1)`

/**
 * Queues the emails of requested password resets. Deletes requests for addresses without an account, and those beyond the
 * limit per hour, whose links are in the mailbox already.
 */
export const resolvePasswordResets = async ({ pool }: Platform['db']): Promise<void> => {
  await pool.query(RESOLVE, [MAILS_PER_KIND_AND_HOUR])
  await pool.query(DROP, [MAILS_PER_KIND_AND_HOUR])
}

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
  return { id: found.id, userId: found.user.id, email: found.user.email }
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
 * A reset also revokes access tokens, which somebody else may have created.
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
