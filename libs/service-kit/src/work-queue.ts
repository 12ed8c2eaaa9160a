import { AppError } from '@waymark/contracts'
import pLimit from 'p-limit'

type WorkQueueOptions = {
  atOnce: number
  maxWaiting: number
  /** The message of the error when the queue is full, and when to try again. */
  message: string
  retryAfterSeconds: number
}

/**
 * Returns a function that runs work, at most `atOnce` pieces at a time, so that a burst does not delay other requests.
 * The function throws AppError overloaded when `maxWaiting` pieces wait already.
 */
export const createWorkQueue = ({ atOnce, maxWaiting, message, retryAfterSeconds }: WorkQueueOptions) => {
  const limit = pLimit(atOnce)
  return async <T>(work: () => Promise<T>): Promise<T> => {
    if (limit.pendingCount >= maxWaiting) throw new AppError('overloaded', message, { retryAfterSeconds })
    return limit(work)
  }
}
