import type { Database } from '@waymark/database'

// Below the 4.6 s after which a request is answered 503: a later commit would be repeated by a retry.
const LOCK_TIMEOUT_MS = 3_000

/** Runs a write in a transaction that is rolled back when a statement waits longer than 3 s for a lock. */
export const writeTransaction = <T>(
  db: Pick<Database, 'transaction'>,
  run: Parameters<typeof db.transaction<T>>[0],
): Promise<T> => db.transaction(run, { lockTimeoutMs: LOCK_TIMEOUT_MS })
