import { AppError } from '@waymark/contracts'
import { hashPassword, isCommonPassword, unmatchableHash, verifyPassword } from '@waymark/domain'
import pLimit from 'p-limit'
import { unprocessable } from '../http/validation.ts'

// Each takes a thread and 19 MiB for some tens of ms; Node has four threads, which files and names need as well.
const AT_ONCE = 2
/** About a second of work, several on a busy machine; whoever comes then had better come again. */
const MAX_WAITING = 64
const RETRY_AFTER_S = 2

/** How much hashing is done side by side, and how much may wait for it. */
export type PasswordsOptions = {
  atOnce?: number
  maxWaiting?: number
  hash?: (password: string) => Promise<string>
  verify?: (password: string, hash: string) => Promise<boolean>
}

/** Hashes and checks passwords, a few at a time, so that a burst of sign-ins does not slow other requests. */
export const createPasswords = ({
  atOnce = AT_ONCE,
  maxWaiting = MAX_WAITING,
  hash = hashPassword,
  verify = verifyPassword,
}: PasswordsOptions = {}) => {
  const limit = pLimit(atOnce)
  const unmatchable = unmatchableHash()
  let common: Promise<ReadonlySet<string>> | undefined

  const inTurn = <T>(work: () => Promise<T>): Promise<T> => {
    if (limit.pendingCount >= maxWaiting) {
      throw new AppError('overloaded', 'Too many sign-ins at once', { retryAfterSeconds: RETRY_AFTER_S })
    }
    return limit(work)
  }

  return {
    /**
     * Refuses a password that everybody uses, or that is the account's own address.
     * @throws AppError unprocessable naming `field`
     */
    requireUncommon: async (password: string, email: string, field: string): Promise<void> => {
      common ??= loadCommon()
      if (password.toLowerCase() === email || isCommonPassword(password, await common))
        throw unprocessable(field, 'common', 'is easily guessed')
    },

    /**
     * Hashes a password.
     * @throws AppError overloaded when too many wait already
     */
    hash: async (password: string): Promise<string> => inTurn(() => hash(password)),

    /**
     * Whether a password belongs to an account's hash; without an account it takes as long to say no.
     * @throws AppError overloaded when too many wait already
     */
    verify: async (password: string, stored: string | undefined): Promise<boolean> =>
      inTurn(() => verify(password, stored ?? unmatchable)),
  }
}

export type Passwords = ReturnType<typeof createPasswords>

// 50,000 of them: not loaded before somebody chooses a password.
const loadCommon = async (): Promise<ReadonlySet<string>> => {
  const { dictionary } = await import('@zxcvbn-ts/language-common')
  return new Set(dictionary['passwords-common'])
}
