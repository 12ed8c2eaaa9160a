import type { AccountMailKind } from '@waymark/contracts/account-mail'
import type { Database, Prisma } from '@waymark/database'
import { v7 as uuidv7 } from 'uuid'

/** Emails of a kind to a user per hour. More are not sent, so that an account cannot fill a stranger's mailbox. */
export const MAILS_PER_KIND_AND_HOUR = 5

/** Queues an email to a user about their account. The email consumer sends it. */
export const queueAccountMail = async (
  tx: Pick<Prisma.TransactionClient, '$executeRaw'>,
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
export const requestPasswordReset = async (
  { pool }: Pick<Database, 'pool'>,
  email: string,
): Promise<void> => {
  await pool.query({ name: 'request-password-reset', text: REQUEST_RESET, values: [uuidv7(), email] })
}

/** Resets of a user that were queued within an hour. */
const RECENT_RESETS = `
  SELECT count(*) FROM email.account_mails r
  WHERE r.user_id = u.id AND r.kind = 'reset_password' AND r.created_at > now() - interval '1 hour'`
const RESOLVE = `
  UPDATE email.account_mails m SET user_id = requested.user_id, mail_due_at = now()
  FROM (
    SELECT w.id, u.id AS user_id,
      row_number() OVER (PARTITION BY u.id ORDER BY w.created_at, w.id) + (${RECENT_RESETS}) AS nth
    FROM email.account_mails w JOIN core.users u ON u.email = w.recipient WHERE w.user_id IS NULL
  ) requested WHERE m.id = requested.id AND m.user_id IS NULL AND requested.nth <= $1`
const DROP = `
  DELETE FROM email.account_mails m
  WHERE m.user_id IS NULL
    AND NOT EXISTS (SELECT FROM core.users u WHERE u.email = m.recipient AND (${RECENT_RESETS}) < $1)`

/**
 * Queues the emails of requested password resets. Deletes requests for addresses without an account, and those beyond the
 * limit per hour, whose links are in the mailbox already.
 */
export const resolvePasswordResets = async ({ pool }: Pick<Database, 'pool'>): Promise<void> => {
  await pool.query(RESOLVE, [MAILS_PER_KIND_AND_HOUR])
  await pool.query(DROP, [MAILS_PER_KIND_AND_HOUR])
}
