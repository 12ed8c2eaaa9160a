import type { Database } from '@waymark/database'

type Pool = Database['pool']

const CLAIM = `
  INSERT INTO core.sign_in_failures AS f (key, failures, window_ends_at) VALUES ($1, 1, $4)
  ON CONFLICT (key) DO UPDATE SET
    failures = CASE WHEN f.window_ends_at <= $3 THEN 1 ELSE f.failures + 1 END,
    window_ends_at = CASE WHEN f.window_ends_at <= $3 THEN $4 ELSE f.window_ends_at END
  WHERE f.failures < $2 OR f.window_ends_at <= $3`
const WINDOW = 'SELECT window_ends_at FROM core.sign_in_failures WHERE key = $1'
const FORGET = 'DELETE FROM core.sign_in_failures WHERE key = $1'
const RELEASE = 'UPDATE core.sign_in_failures SET failures = greatest(failures - 1, 0) WHERE key = $1'

/**
 * Counts an attempt as failed, before its password is checked, so that concurrent guesses count.
 * @returns undefined, or the end of the window when it already has `limit` failures
 */
export const claimAttempt = async (
  pool: Pool,
  key: Buffer,
  { limit, now, windowEndsAt }: { limit: number; now: Date; windowEndsAt: Date },
): Promise<Date | undefined> => {
  const { rowCount } = await pool.query({
    name: 'claim-sign-in-attempt',
    text: CLAIM,
    values: [key, limit, now, windowEndsAt],
  })
  if (rowCount === 1) return undefined
  const { rows } = await pool.query<{ window_ends_at: Date }>(WINDOW, [key])
  return rows[0]?.window_ends_at ?? now
}

/** Deletes the count of failed attempts. */
export const forgetAttempts = async (pool: Pool, key: Buffer): Promise<void> => {
  await pool.query(FORGET, [key])
}

/** Takes one failed attempt back. */
export const releaseAttempt = async (pool: Pool, key: Buffer): Promise<void> => {
  await pool.query(RELEASE, [key])
}
