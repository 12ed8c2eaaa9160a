import type { Database } from '@waymark/database'

// Less than the 4.6 s after which a request is answered 503: what commits later would be done twice by a repeat.
const LOCK_TIMEOUT_MS = 3_000

/** Runs a write in a transaction, in which each statement waits up to 3 s for a lock before all is rolled back. */
export const writeTransaction = <T>(
  db: Pick<Database, 'transaction'>,
  run: Parameters<typeof db.transaction<T>>[0],
): Promise<T> => db.transaction(run, { lockTimeoutMs: LOCK_TIMEOUT_MS })
