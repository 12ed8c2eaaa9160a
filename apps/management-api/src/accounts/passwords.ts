import { hashPassword, isCommonPassword, unmatchableHash, verifyPassword } from '@waymark/domain/account'
import { currentWork, requireOngoingWork } from '@waymark/domain/fairness'
import type { PasswordQueue } from '@waymark/service-kit'
import { unprocessable } from '../http/validation.ts'

type PasswordsOptions = {
  /** The queue of all password hashes of the process. */
  queue: PasswordQueue
  hash?: (password: string) => Promise<string>
  verify?: (password: string, hash: string) => Promise<boolean>
}

/** Hashes and checks passwords in their turn, so that neither many passwords of a tenant nor a burst delay sign-ins. */
export const createPasswords = ({
  queue,
  hash = hashPassword,
  verify = verifyPassword,
}: PasswordsOptions) => {
  const unmatchable = unmatchableHash()
  let common: Promise<ReadonlySet<string>> | undefined

  const inTurn = <T>(work: () => Promise<T>): Promise<T> => {
    const { owner, kind } = currentWork() ?? {}
    const ongoing = () => {
      requireOngoingWork()
      return work()
    }
    return queue.run(owner, ongoing, { lane: kind === 'sign-in' ? 'sign-in' : 'other' })
  }

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
     * @throws AppError rate_limited or overloaded when too many are waiting
     */
    hash: (password: string): Promise<string> => inTurn(() => hash(password)),

    /**
     * Whether a password matches an account's hash. Without an account the check takes as long.
     * @throws AppError rate_limited or overloaded when too many are waiting
     */
    verify: (password: string, stored: string | undefined): Promise<boolean> =>
      inTurn(() => verify(password, stored ?? unmatchable)),
  }
}

export type Passwords = ReturnType<typeof createPasswords>

// 50,000 passwords, loaded when first needed.
const loadCommon = async (): Promise<ReadonlySet<string>> => {
  const { dictionary } = await import('@zxcvbn-ts/language-common')
  return new Set(dictionary['passwords-common'])
}
