import { NOW } from '@waymark/database'
import type { Pool } from 'pg'

/** How long the link that verifies a sender is valid. */
export const VERIFICATION_HOURS = 24

/** An email that asks its recipient to verify a sender. `attempts` counts this one. */
type Verification = { id: string; sender: string; recipient: string; attempts: number }

// A claim lasts five minutes, longer with each attempt. A new link replaces the previous one.
const CLAIM = `
  UPDATE email.senders SET token_hash = $1, token_expires_at = now() + ${VERIFICATION_HOURS} * interval '1 hour',
    mail_attempts = mail_attempts + 1, mail_due_at = now() + (mail_attempts + 1) * interval '5 minutes'
  WHERE id = (
    SELECT id FROM email.senders WHERE mail_due_at <= ${NOW} AND verified_at IS NULL
    ORDER BY mail_due_at LIMIT 1 FOR UPDATE SKIP LOCKED)
  RETURNING id, sender, recipient, mail_attempts AS attempts`
const DONE = `
  UPDATE email.senders SET mail_due_at = NULL, mail_error = $3 WHERE id = $1 AND token_hash = $2`

/** Claims a verification email that is due, and stores the hash of the token for its link. */
export const claimVerification = async (pool: Pool, tokenHash: Buffer): Promise<Verification | undefined> => {
  const { rows } = await pool.query<Verification>(CLAIM, [tokenHash])
  return rows[0]
}

/** Ends the attempts to send a verification email. `error`: why it could not be sent; null when it was. */
export const finishVerification = async (
  pool: Pool,
  id: string,
  tokenHash: Buffer,
  error: string | null,
): Promise<void> => {
  await pool.query(DONE, [id, tokenHash, error])
}

/** The address of a sender, and the name of the tenant that asks to use it. */
export type SenderOfTenant = { sender: string; tenant: string }

const OPEN = 'token_hash = $1 AND token_expires_at > now() AND verified_at IS NULL'
const FIND = `
  SELECT s.sender, t.name AS tenant FROM email.senders s JOIN core.tenants t ON t.id = s.tenant_id WHERE ${OPEN}`
const VERIFY = `
  UPDATE email.senders s SET verified_at = now(), token_hash = NULL, token_expires_at = NULL, mail_due_at = NULL
  FROM core.tenants t WHERE t.id = s.tenant_id AND ${OPEN} RETURNING s.sender, t.name AS tenant`

/** The sender that a link verifies; undefined when the link is not valid. */
export const findSender = async (pool: Pool, tokenHash: Buffer): Promise<SenderOfTenant | undefined> => {
  const { rows } = await pool.query<SenderOfTenant>(FIND, [tokenHash])
  return rows[0]
}

/** Verifies the sender of a link, once; undefined when the link is not valid. */
export const verifySender = async (pool: Pool, tokenHash: Buffer): Promise<SenderOfTenant | undefined> => {
  const { rows } = await pool.query<SenderOfTenant>(VERIFY, [tokenHash])
  return rows[0]
}
