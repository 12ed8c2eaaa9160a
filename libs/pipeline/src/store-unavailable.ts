import { AppError } from '@waymark/contracts'

const RETRY_AFTER_S = 30

/** The answer when a store is away and the request cannot be kept for later: repeating it is safe. */
export const storeUnavailable = (cause: unknown): AppError =>
  new AppError('store_unavailable', 'STORE_UNAVAILABLE', { retryAfter: RETRY_AFTER_S }, { cause })
