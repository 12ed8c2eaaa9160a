import { Pool, type PoolConfig } from 'pg'

const CONNECT_TIMEOUT_MS = 5_000
const STATEMENT_TIMEOUT_MS = 30_000
const IDLE_TIMEOUT_MS = 30_000
const IDLE_IN_TRANSACTION_TIMEOUT_MS = 60_000
const KEEP_ALIVE_AFTER_MS = 10_000
const LATE_ANSWER_MS = 5_000

export type PoolOptions = {
  url: string
  /** The most connections this pool opens. */
  max: number
  /** Shown in `pg_stat_activity`. */
  applicationName: string
  /** Gets the errors of idle connections, such as a server's restart; the pool replaces these connections itself. */
  onError: (error: Error) => void
  /** After how long, in milliseconds, the server cancels a statement; default 30000, 0 never. */
  statementTimeoutMs?: number | undefined
  /** How long, in milliseconds, to wait for a free or new connection; default 5000. */
  connectTimeoutMs?: number | undefined
  /** Overrides what the URL says. */
  ssl?: PoolConfig['ssl']
}

/**
 * Opens a pool of connections, without connecting yet. A lost connection rejects what ran on it and never ends the
 * process. `bigint` columns are read as strings, as they may be larger than a number can hold.
 */
export const createPool = ({
  url,
  max,
  applicationName,
  onError,
  statementTimeoutMs = STATEMENT_TIMEOUT_MS,
  connectTimeoutMs = CONNECT_TIMEOUT_MS,
  ssl,
}: PoolOptions): Pool => {
  const pool = new Pool({
    connectionString: url,
    max,
    application_name: applicationName,
    connectionTimeoutMillis: connectTimeoutMs,
    idleTimeoutMillis: IDLE_TIMEOUT_MS,
    // A statement need not wait for the answer to the one before it.
    pipeline: true,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_AFTER_MS,
    idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_TIMEOUT_MS,
    ...(statementTimeoutMs > 0 && {
      statement_timeout: statementTimeoutMs,
      // For a server that is gone without having closed the connection.
      query_timeout: statementTimeoutMs + LATE_ANSWER_MS,
    }),
    ...(ssl !== undefined && { ssl }),
  })
  pool.on('error', (error) => {
    // A server that ends before the last connection has said goodbye is no news to whoever closes the pool.
    if (!pool.ending) onError(error)
  })
  // While a client is checked out the pool does not listen, and an unheard error would end the process.
  pool.on('connect', (client) => client.on('error', () => {}))
  return pool
}
