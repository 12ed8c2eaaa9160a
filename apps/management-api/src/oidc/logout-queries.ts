import { createHash } from 'node:crypto'
import type { Database } from '@waymark/database'

type Transaction = Parameters<Parameters<Database['transaction']>[0]>[0]

const REMEMBER = `
  INSERT INTO core.oidc_logout_tokens (provider_id, jti_hash, expires_at) VALUES ($1, $2, $3)
  ON CONFLICT DO NOTHING`
const END = `
  DELETE FROM core.sessions s USING core.user_identities i
  WHERE i.id = s.identity_id AND i.provider_id = $1
    AND ($2::text IS NULL OR i.subject = $2) AND ($3::text IS NULL OR s.provider_session_id = $3)
  RETURNING s.user_id`

/** Stores the id of a log-out token. Resolves to whether it is new. */
export const rememberToken = async (
  tx: Transaction,
  providerId: string,
  jti: string,
  expiresAt: Date,
): Promise<boolean> => {
  const jtiHash = createHash('sha256').update(jti).digest()
  return (await tx.query(REMEMBER, [providerId, jtiHash, expiresAt])).rowCount === 1
}

/** Ends the sessions of a provider's user, or the one with a provider's session. Resolves to the ids of their users. */
export const endProviderSessions = async (
  tx: Transaction,
  providerId: string,
  { subject, sessionId }: { subject: string | null; sessionId: string | null },
): Promise<ReadonlySet<string>> => {
  const { rows } = await tx.query<{ user_id: string }>(END, [providerId, subject, sessionId])
  return new Set(rows.map(({ user_id }) => user_id))
}
