import type { PoolConfig } from 'pg'
import { FairPool } from './fair-pool.ts'

const CONNECT_TIMEOUT_MS = 5_000
const STATEMENT_TIMEOUT_MS = 30_000
const IDLE_TIMEOUT_MS = 30_000
const IDLE_IN_TRANSACTION_TIMEOUT_MS = 60_000
const KEEP_ALIVE_AFTER_MS = 10_000
const LATE_ANSWER_MS = 5_000

export type PoolOptions = {
  url: string
  /** Most connections. */
  max: number
  /** Shown in `pg_stat_activity`. */
  applicationName: string
  /** Receives errors of idle connections, such as a restart of the server. The pool replaces these connections. */
  onError: (error: Error) => void
  /** Timeout of a statement, in ms; default 30000, 0 for none. */
  statementTimeoutMs?: number | undefined
  /** How long to wait for a free or new connection, in ms; default 5000. */
  connectTimeoutMs?: number | undefined
  /** Overrides the TLS parameters of the URL. */
  ssl?: PoolConfig['ssl']
}

/**
 * Creates a pool, which connects on first use and divides its connections fairly. A lost connection rejects its queries
 * and never ends the process. Columns of type `bigint` are read as strings.
 */
export const createPool = ({
  url,
  max,
  applicationName,
  onError,
  statementTimeoutMs = STATEMENT_TIMEOUT_MS,
  connectTimeoutMs = CONNECT_TIMEOUT_MS,
  ssl,
}: PoolOptions): FairPool => {
  const pool = new FairPool({
    connectionString: url,
    max,
    application_name: applicationName,
    connectionTimeoutMillis: connectTimeoutMs,
    idleTimeoutMillis: IDLE_TIMEOUT_MS,
    // Sends statements without waiting for the results of earlier ones.
    pipeline: true,
    // Prisma writes and reads times without their offset, as if they were UTC.
    options: '-c TimeZone=UTC',
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_AFTER_MS,
    idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_TIMEOUT_MS,
    ...(statementTimeoutMs > 0 && {
      statement_timeout: statementTimeoutMs,
      // For a server that disappears without closing the connection.
      query_timeout: statementTimeoutMs + LATE_ANSWER_MS,
    }),
    ...(ssl !== undefined && { ssl }),
  })
  pool.on('error', (error) => {
    // Errors while closing the pool do not matter.
    if (!pool.ending) onError(error)
  })
  // The pool does not listen to clients in use, and an `error` event without a listener would end the process.
  pool.on('connect', (client) => client.on('error', () => {}))
  return pool
}
