import { createHash } from 'node:crypto'
import { clientNetworkOf } from '@waymark/domain'
import type { Platform } from '@waymark/service-kit'
import { rateLimited, requireAllowed } from '../http/require-allowed.ts'
import { MAILS_PER_KIND_AND_HOUR } from './account-mails.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const FAILURES_MS = 15 * MINUTE_MS
const TOO_MANY = 'Too many attempts'
const TOO_MANY_MAILS = 'Too many emails were requested'

// Counted before the password is checked, so that concurrent guesses count.
const CLAIM = `
  INSERT INTO core.sign_in_failures AS f (key, failures, window_ends_at) VALUES ($1, 1, $4)
  ON CONFLICT (key) DO UPDATE SET
    failures = CASE WHEN f.window_ends_at <= $3 THEN 1 ELSE f.failures + 1 END,
    window_ends_at = CASE WHEN f.window_ends_at <= $3 THEN $4 ELSE f.window_ends_at END
  WHERE f.failures < $2 OR f.window_ends_at <= $3`

const WINDOW = 'SELECT window_ends_at FROM core.sign_in_failures WHERE key = $1'
const FORGET = 'DELETE FROM core.sign_in_failures WHERE key = $1'
const GIVE_BACK = 'UPDATE core.sign_in_failures SET failures = greatest(failures - 1, 0) WHERE key = $1'

const failuresKey = (email: string, address: string): Buffer =>
  createHash('sha256')
    .update(`${email}\n${clientNetworkOf(address)}`)
    .digest()

/** Limits on sign-ins, registrations and emails to users. Every function throws AppError rate_limited beyond its limit. */
export const createAccountLimits = ({
  db: { pool },
  rateLimiter,
  limits,
  clock,
}: Pick<Platform, 'db' | 'rateLimiter' | 'limits' | 'clock'>) => {
  const use = (
    bucket: string,
    address: string,
    limit: number,
    windowMs: number,
    message = TOO_MANY,
  ): Promise<void> =>
    requireAllowed(rateLimiter, { bucket, key: clientNetworkOf(address), limit, windowMs, message })

  const attempt = async (key: Buffer, check: () => Promise<boolean>): Promise<boolean> => {
    const now = clock()
    const { rowCount } = await pool.query({
      name: 'claim-sign-in-attempt',
      text: CLAIM,
      values: [key, limits.signInFailures, new Date(now), new Date(now + FAILURES_MS)],
    })
    if (rowCount !== 1) {
      const { rows } = await pool.query<{ window_ends_at: Date }>(WINDOW, [key])
      throw rateLimited(TOO_MANY, (rows[0]?.window_ends_at.getTime() ?? now) - now)
    }
    try {
      const isCorrect = await check()
      if (isCorrect) await pool.query(FORGET, [key])
      return isCorrect
    } catch (error) {
      // The error of the check matters more, and the count expires with its window.
      await pool.query(GIVE_BACK, [key]).catch(() => {})
      throw error
    }
  }

  return {
    /** Counts an attempt to sign in from an address. */
    countSignIn: (address: string): Promise<void> =>
      use('sign-in', address, limits.signInPerMinute, MINUTE_MS),

    /** Counts an attempt to register from an address. */
    countRegistration: (address: string): Promise<void> =>
      use('register', address, limits.registerPerHour, HOUR_MS),

    /** Counts a request for an email that resets a password, by client address: anybody may ask for any account. */
    countResetRequest: (address: string): Promise<void> =>
      use('account-mails', address, limits.accountMailsPerHour, HOUR_MS, TOO_MANY_MAILS),

    /** Counts a request of a signed-in user for an email that confirms their address, by client address and by user. */
    countVerification: async (userId: string, address: string): Promise<void> => {
      await use('verification-mails-from', address, limits.accountMailsPerHour, HOUR_MS, TOO_MANY_MAILS)
      await requireAllowed(rateLimiter, {
        bucket: 'verification-mails',
        key: userId,
        limit: MAILS_PER_KIND_AND_HOUR,
        windowMs: HOUR_MS,
        message: TOO_MANY_MAILS,
      })
    },

    /** Clears the count of failed attempts of an account from an address. */
    forgetFailures: async (email: string, address: string): Promise<void> => {
      await pool.query(FORGET, [failuresKey(email, address)])
    },

    /**
     * Whether `check` accepts the password of an account. An attempt counts as failed until it succeeds, which clears
     * the count. It does not count when `check` rejects.
     */
    attempt: (email: string, address: string, check: () => Promise<boolean>): Promise<boolean> =>
      attempt(failuresKey(email, address), check),

    /**
     * The same for codes of a second factor, from all addresses together: a code is short, and only who knows the password
     * can send one.
     */
    attemptCode: (userId: string, check: () => Promise<boolean>): Promise<boolean> =>
      attempt(createHash('sha256').update(`second factor\n${userId}`).digest(), check),
  }
}

export type AccountLimits = ReturnType<typeof createAccountLimits>
