import pRetry from 'p-retry'

const RETRIES = 5
const FIRST_DELAY_MS = 10
// Deadlock and serialization failure. PostgreSQL has rolled back the transaction.
const CONFLICTS = new Set(['40P01', '40001'])

/** Runs a transaction again after a conflict with another, up to six times in total, with growing random delays. */
export const retryConflicts = <T>(run: () => Promise<T>): Promise<T> =>
  pRetry(run, {
    retries: RETRIES,
    minTimeout: FIRST_DELAY_MS,
    factor: 1.5,
    randomize: true,
    shouldRetry: ({ error }) => 'code' in error && CONFLICTS.has(`${error.code}`),
  })
