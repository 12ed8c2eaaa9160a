import { createHash } from 'node:crypto'
import { AppError } from '@waymark/contracts'
import { clientNetworkOf } from '@waymark/domain'
import type { Platform } from '@waymark/service-kit'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const FAILURES_MS = 15 * MINUTE_MS

// Counted before the password is looked at, so that guesses made at the same moment count as well.
const CLAIM = `
  INSERT INTO core.sign_in_failures AS f (key, failures, window_ends_at) VALUES ($1, 1, $4)
  ON CONFLICT (key) DO UPDATE SET
    failures = CASE WHEN f.window_ends_at <= $3 THEN 1 ELSE f.failures + 1 END,
    window_ends_at = CASE WHEN f.window_ends_at <= $3 THEN $4 ELSE f.window_ends_at END
  WHERE f.failures < $2 OR f.window_ends_at <= $3`

const WINDOW = 'SELECT window_ends_at FROM core.sign_in_failures WHERE key = $1'
const FORGET = 'DELETE FROM core.sign_in_failures WHERE key = $1'
const GIVE_BACK = 'UPDATE core.sign_in_failures SET failures = greatest(failures - 1, 0) WHERE key = $1'

/** How often somebody may try to get in. Everything here throws AppError rate_limited when that was too often. */
export const createAccountLimits = ({
  db: { pool },
  rateLimiter,
  limits,
  clock,
}: Pick<Platform, 'db' | 'rateLimiter' | 'limits' | 'clock'>) => {
  const use = async (bucket: string, address: string, limit: number, windowMs: number): Promise<void> => {
    const key = clientNetworkOf(address)
    const { allowed, resetMs } = await rateLimiter.consume({ bucket, key, limit, windowMs })
    if (!allowed) throw tooMany(resetMs)
  }

  return {
    /** Counts an attempt to sign in from an address. */
    countSignIn: (address: string): Promise<void> =>
      use('sign-in', address, limits.signInPerMinute, MINUTE_MS),

    /** Counts an attempt to register from an address. */
    countRegistration: (address: string): Promise<void> =>
      use('register', address, limits.registerPerHour, HOUR_MS),

    /**
     * Whether `check` finds a password to be an account's, as an attempt from an address. It counts as failed until
     * it has succeeded, which clears the count; it does not count when `check` rejects.
     */
    attempt: async (email: string, address: string, check: () => Promise<boolean>): Promise<boolean> => {
      const key = createHash('sha256')
        .update(`${email}\n${clientNetworkOf(address)}`)
        .digest()
      const now = clock()
      const { rowCount } = await pool.query({
        name: 'claim-sign-in-attempt',
        text: CLAIM,
        values: [key, limits.signInFailures, new Date(now), new Date(now + FAILURES_MS)],
      })
      if (rowCount !== 1) {
        const { rows } = await pool.query<{ window_ends_at: Date }>(WINDOW, [key])
        throw tooMany((rows[0]?.window_ends_at.getTime() ?? now) - now)
      }
      try {
        const right = await check()
        if (right) await pool.query(FORGET, [key])
        return right
      } catch (error) {
        // What was wrong with the check is the news; the count ends with its window in any case.
        await pool.query(GIVE_BACK, [key]).catch(() => {})
        throw error
      }
    },
  }
}

export type AccountLimits = ReturnType<typeof createAccountLimits>

const tooMany = (resetMs: number): AppError =>
  new AppError('rate_limited', 'Too many attempts', {
    retryAfterSeconds: Math.max(1, Math.ceil(resetMs / 1000)),
  })
