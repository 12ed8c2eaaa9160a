import { setImmediate } from 'node:timers/promises'
import type { Pool, PoolClient } from 'pg'
import { isConnectionError } from './sql-errors.ts'

/** `lockTimeoutMs`: how long a statement waits for a lock, in ms; by default its statement timeout. */
export type TransactionOptions = { lockTimeoutMs?: number }

/** Sends COMMIT after the statements sent so far, without waiting for their results. No statement may follow. */
export type Commit = () => Promise<void>

/**
 * Runs `run` in a transaction on one connection. Commits when it resolves, unless it has called `commit`, and rolls back
 * when it rejects. After a connection error during the commit, the changes may or may not be committed.
 * @throws what `run` throws, and errors of the commit
 */
export const withTransaction = async <T>(
  pool: Pool,
  run: (client: PoolClient, commit: Commit) => Promise<T>,
  { lockTimeoutMs }: TransactionOptions = {},
): Promise<T> => {
  const client = await pool.connect()
  let committed: Promise<void> | undefined
  const commit = (): Promise<void> => {
    committed ??= sendCommit(client)
    return committed
  }
  try {
    const begun = client.query(
      lockTimeoutMs === undefined ? 'BEGIN' : `BEGIN; SET LOCAL lock_timeout = ${Math.trunc(lockTimeoutMs)}`,
    )
    // Not awaited, so that the first statement is sent together with it. If it fails, that statement fails too.
    begun.catch(() => {})
    const result = await run(client, commit)
    await begun
    await commit()
    client.release()
    return result
  } catch (error) {
    client.release(isConnectionError(error) || !(await rolledBack(client)))
    throw error
  }
}

const sendCommit = async (client: PoolClient): Promise<void> => {
  const { command } = await client.query('COMMIT')
  if (command === 'COMMIT') return
  // The failed statement may be answered in the same packet. Its error must reach the caller first, because only that one
  // says whether to retry.
  await setImmediate()
  throw new Error('The transaction was rolled back: a statement in it had failed')
}

const rolledBack = async (client: PoolClient): Promise<boolean> => {
  try {
    await client.query('ROLLBACK')
    return true
  } catch {
    return false
  }
}
