import { hashPassword, isCommonPassword, unmatchableHash, verifyPassword } from '@waymark/domain'
import { createWorkQueue } from '@waymark/service-kit'
import { unprocessable } from '../http/validation.ts'

// A hash takes 19 MiB and, for tens of ms, one of Node's four worker threads, which files and DNS also use.
const AT_ONCE = 2
/** About a second of work; beyond that requests are refused. */
const MAX_WAITING = 64
const RETRY_AFTER_S = 2

/** How many passwords are hashed at once, and how many may wait. */
type PasswordsOptions = {
  atOnce?: number
  maxWaiting?: number
  hash?: (password: string) => Promise<string>
  verify?: (password: string, hash: string) => Promise<boolean>
}

/** Hashes and checks passwords, a few at a time, so that a burst of sign-ins does not delay other requests. */
export const createPasswords = ({
  atOnce = AT_ONCE,
  maxWaiting = MAX_WAITING,
  hash = hashPassword,
  verify = verifyPassword,
}: PasswordsOptions = {}) => {
  const inTurn = createWorkQueue({
    atOnce,
    maxWaiting,
    message: 'Too many sign-ins at once',
    retryAfterSeconds: RETRY_AFTER_S,
  })
  const unmatchable = unmatchableHash()
  let common: Promise<ReadonlySet<string>> | undefined

  return {
    /**
     * Refuses common passwords and the account's own address.
     * @throws AppError unprocessable naming `field`
     */
    requireUncommon: async (password: string, email: string, field: string): Promise<void> => {
      common ??= loadCommon()
      if (password.toLowerCase() === email || isCommonPassword(password, await common))
        throw unprocessable(field, 'common', 'is easily guessed')
    },

    /**
     * Hashes a password.
     * @throws AppError overloaded when too many are waiting
     */
    hash: async (password: string): Promise<string> => inTurn(() => hash(password)),

    /**
     * Whether a password matches an account's hash. Without an account the check takes as long.
     * @throws AppError overloaded when too many are waiting
     */
    verify: async (password: string, stored: string | undefined): Promise<boolean> =>
      inTurn(() => verify(password, stored ?? unmatchable)),
  }
}

export type Passwords = ReturnType<typeof createPasswords>

// 50,000 passwords, loaded when first needed.
const loadCommon = async (): Promise<ReadonlySet<string>> => {
  const { dictionary } = await import('@zxcvbn-ts/language-common')
  return new Set(dictionary['passwords-common'])
}
