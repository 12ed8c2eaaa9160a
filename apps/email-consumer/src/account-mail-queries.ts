import type { AccountMailKind } from '@waymark/contracts/account-mail'
import { NOW } from '@waymark/database'
import type { Pool } from 'pg'

/** An email to a user about their account. `attempts` counts this one. */
type AccountMail = { id: string; kind: AccountMailKind; recipient: string; createdAt: Date; attempts: number }

// A claim lasts five minutes, longer with each attempt. An attempt makes the link of the previous one invalid.
const CLAIM = `
  UPDATE email.account_mails SET
    token_hash = CASE WHEN kind IN ('reset_password', 'verify_email') THEN $1::bytea END,
    token_expires_at = now() + CASE kind
      WHEN 'reset_password' THEN interval '1 hour' WHEN 'verify_email' THEN interval '24 hours' END,
    mail_attempts = mail_attempts + 1, mail_due_at = now() + (mail_attempts + 1) * interval '5 minutes'
  WHERE id = (
    SELECT id FROM email.account_mails WHERE mail_due_at <= ${NOW}
    ORDER BY mail_due_at LIMIT 1 FOR UPDATE SKIP LOCKED)
  RETURNING id, kind, recipient, created_at AS "createdAt", mail_attempts AS attempts`
const DONE = 'UPDATE email.account_mails SET mail_due_at = NULL WHERE id = $1 AND mail_attempts = $2'

/** Claims an account email that is due, and stores the hash of the token for its link. */
export const claimAccountMail = async (pool: Pool, tokenHash: Buffer): Promise<AccountMail | undefined> => {
  const { rows } = await pool.query<AccountMail>(CLAIM, [tokenHash])
  return rows[0]
}

/** Ends the attempts to send an account email, unless another claim has started. */
export const finishAccountMail = async (pool: Pool, id: string, attempts: number): Promise<void> => {
  await pool.query(DONE, [id, attempts])
}
