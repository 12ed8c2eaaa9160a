import { WRITE_LOCK_TIMEOUT_MS } from '@waymark/contracts/request-budget'
import type { Database } from '@waymark/database'

/** Runs a write in a transaction that is rolled back when a statement waits longer than 3 s for a lock. */
export const writeTransaction = <T>(
  db: Pick<Database, 'transaction'>,
  run: Parameters<typeof db.transaction<T>>[0],
): Promise<T> => db.transaction(run, { lockTimeoutMs: WRITE_LOCK_TIMEOUT_MS })
