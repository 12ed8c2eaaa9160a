import type { Pool, PoolClient } from 'pg'
import { isConnectionError } from './sql-errors.ts'

/** `lockTimeoutMs`: how long a statement waits for a lock before it fails; as long as the pool says unless given. */
export type TransactionOptions = { lockTimeoutMs?: number }

/**
 * Runs `run` in a transaction on one connection of the pool: commits when it resolves, rolls back and rejects with
 * its error when it rejects. When it resolves, the changes are committed; after a connection error while committing
 * they may or may not be. A connection that broke is not given back to the pool.
 */
export const withTransaction = async <T>(
  pool: Pool,
  run: (client: PoolClient) => Promise<T>,
  { lockTimeoutMs }: TransactionOptions = {},
): Promise<T> => {
  const client = await pool.connect()
  try {
    // Both in one round trip.
    await client.query(
      lockTimeoutMs === undefined ? 'BEGIN' : `BEGIN; SET LOCAL lock_timeout = ${Math.trunc(lockTimeoutMs)}`,
    )
    const result = await run(client)
    const { command } = await client.query('COMMIT')
    // The server's answer to COMMIT after a statement failed and `run` went on regardless.
    if (command !== 'COMMIT') throw new Error('The transaction was rolled back: a statement in it had failed')
    client.release()
    return result
  } catch (error) {
    client.release(isConnectionError(error) || !(await rolledBack(client)))
    throw error
  }
}

const rolledBack = async (client: PoolClient): Promise<boolean> => {
  try {
    await client.query('ROLLBACK')
    return true
  } catch {
    return false
  }
}
