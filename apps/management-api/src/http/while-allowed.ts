import { AppError } from '@waymark/contracts/app-error'

/** Interval of checks whether the reader of a long answer is still authorized, in ms. */
export const CHECK_MS = 5_000

const REFUSALS = ['unauthorized', 'forbidden', 'not_found']

/** Whether a caller is still allowed what it asked for. An unavailable store does not end a long answer. */
export const stillAllowed = async (allowAgain: () => Promise<unknown>): Promise<boolean> => {
  try {
    await allowAgain()
    return true
  } catch (error) {
    return !(error instanceof AppError && REFUSALS.includes(error.code))
  }
}

/**
 * The pieces of an answer, as long as its reader is authorized. The reader decides how long it takes.
 * @param now a monotonic clock in ms
 * @throws AppError unauthorized, which breaks off the answer
 */
export async function* whileAllowed<T>(
  pieces: AsyncIterable<T>,
  allowAgain: () => Promise<unknown>,
  now: () => number,
): AsyncGenerator<T> {
  let checkedAt = now()
  for await (const piece of pieces) {
    if (now() - checkedAt >= CHECK_MS) {
      if (!(await stillAllowed(allowAgain)))
        throw new AppError('unauthorized', 'The reader of the answer is no longer authorized')
      checkedAt = now()
    }
    yield piece
  }
}
