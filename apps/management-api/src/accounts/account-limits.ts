import { createHash } from 'node:crypto'
import { clientNetworkOf } from '@waymark/domain/enrichment'
import type { Platform } from '@waymark/service-kit'
import { rateLimited, requireAllowed } from '../http/require-allowed.ts'
import { MAILS_PER_KIND_AND_HOUR } from './account-mail-queries.ts'
import { claimAttempt, forgetAttempts, releaseAttempt } from './sign-in-failure-queries.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const FAILURES_MS = 15 * MINUTE_MS
const TOO_MANY = 'Too many attempts'
const TOO_MANY_MAILS = 'Too many emails were requested'

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
    const endsAt = await claimAttempt(pool, key, {
      limit: limits.signInFailures,
      now: new Date(now),
      windowEndsAt: new Date(now + FAILURES_MS),
    })
    if (endsAt) throw rateLimited(TOO_MANY, endsAt.getTime() - now)
    try {
      const isCorrect = await check()
      if (isCorrect) await forgetAttempts(pool, key)
      return isCorrect
    } catch (error) {
      // The error of the check matters more, and the count expires with its window.
      await releaseAttempt(pool, key).catch(() => {})
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

    /** Counts a request for an email that resets a password, by client address: anyone may ask for any account. */
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
      await forgetAttempts(pool, failuresKey(email, address))
    },

    /**
     * Whether `check` accepts the password of an account. An attempt counts as failed until it succeeds, which clears
     * the count. It does not count when `check` rejects.
     */
    attempt: (email: string, address: string, check: () => Promise<boolean>): Promise<boolean> =>
      attempt(failuresKey(email, address), check),

    /**
     * The same for codes of a second factor, from all addresses together: a code is short, and only a client that knows the password
     * can send one.
     */
    attemptCode: (userId: string, check: () => Promise<boolean>): Promise<boolean> =>
      attempt(createHash('sha256').update(`second factor\n${userId}`).digest(), check),
  }
}

export type AccountLimits = ReturnType<typeof createAccountLimits>
