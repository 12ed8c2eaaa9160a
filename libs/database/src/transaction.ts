import type { Pool, PoolClient } from 'pg'
import { isConnectionError } from './sql-errors.ts'

/** `lockTimeoutMs`: how long a statement waits for a lock before it fails; as long as the pool says unless given. */
export type TransactionOptions = { lockTimeoutMs?: number }

/** Commits behind the statements already sent, without waiting for their answers. None may follow. */
export type Commit = () => Promise<void>

/**
 * Runs `run` in a transaction on one connection of the pool: commits when it resolves, if it did not do that itself,
 * rolls back and rejects with its error when it rejects. When it resolves, the changes are committed; after a
 * connection error while committing they may or may not be. A connection that broke is not given back to the pool.
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
    // The first statement goes with it; that one fails as well when this one does.
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
  // The server's answer to COMMIT after a statement failed and `run` went on regardless.
  if (command !== 'COMMIT') throw new Error('The transaction was rolled back: a statement in it had failed')
}

const rolledBack = async (client: PoolClient): Promise<boolean> => {
  try {
    await client.query('ROLLBACK')
    return true
  } catch {
    return false
  }
}
