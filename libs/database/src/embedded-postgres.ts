import { realpath } from 'node:fs/promises'
import path from 'node:path'
import { Client, escapeIdentifier } from 'pg'
import { findBinaries, runnableBinaries } from './embedded-postgres/binaries.ts'
import { ensureCluster, superuser } from './embedded-postgres/cluster.ts'
import { openDataDir } from './embedded-postgres/data-dir.ts'
import type { Log } from './embedded-postgres/processes.ts'
import { type ServerExit, startServer, stopLeftServer } from './embedded-postgres/server.ts'
import { superviseServer } from './embedded-postgres/supervise.ts'

export { DataDirInUseError } from './embedded-postgres/data-dir-lock.ts'

type EmbeddedPostgres = {
  /** Contains the password: do not log it. */
  url: string
  /** Resolves after `stop`, or when the server has exited and could not be started again. */
  exited: Promise<ServerExit>
  /** Stops the server within about 10 s (at most 20) and releases the data directory. Idempotent. */
  stop(): Promise<void>
}

export type EmbeddedPostgresOptions = {
  /** Created when missing. Holds PostgreSQL's data, the password (mode 0600) and the locks. */
  dataDir: string
  /** Created when missing; default `waymark`. */
  database?: string
  /** Settings of PostgreSQL that override the defaults. */
  settings?: Record<string, string>
  maxConnections?: number
  /** Receives the warnings and errors of PostgreSQL, and messages about the start. */
  log?: Log
  /** How long to wait for another process to release the data directory, in ms; default 10000. */
  waitMs?: number
}

// For a small site with all services on one machine. Settings of durability keep their defaults.
const smallSite = {
  shared_buffers: '128MB',
  random_page_cost: '1.1',
  jit: 'off',
  timezone: 'UTC',
  log_timezone: 'UTC',
  log_destination: 'stderr',
  log_line_prefix: '',
  log_min_messages: 'warning',
  log_min_error_statement: 'panic',
  log_checkpoints: 'off',
}

const ensureDatabase = async (serverUrl: string, database: string): Promise<void> => {
  const client = new Client({ connectionString: `${serverUrl}/postgres` })
  // A lost connection rejects the query too; without a listener it would end the process.
  client.on('error', () => {})
  await client.connect()
  try {
    const found = await client.query('SELECT FROM pg_database WHERE datname = $1', [database])
    if (found.rowCount === 0) await client.query(`CREATE DATABASE ${escapeIdentifier(database)}`)
  } finally {
    await client.end()
  }
}

/**
 * Starts a PostgreSQL server on `dataDir` and a free port of 127.0.0.1. Creates the database cluster if necessary, and
 * first stops a server that a killed process left running. The caller must call `stop` before it exits, because the server
 * runs in its own session. A server that exits is started again on the same port, up to six times in a row.
 * @throws DataDirInUseError when another process uses `dataDir`
 * @throws Error with advice when the server cannot start, or a left server runs in another container
 */
export const startEmbeddedPostgres = async ({
  dataDir,
  database = 'waymark',
  settings = {},
  maxConnections = 60,
  log = () => {},
  waitMs = 10_000,
}: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> => {
  const installed = await findBinaries()
  const { directory, user, release } = await openDataDir({
    dataDir: path.resolve(dataDir),
    waitMs,
    log,
    stopLeftServer: (data) => stopLeftServer(data, installed, log),
  })
  let stopServer = async (): Promise<void> => {}
  try {
    const binaries = await runnableBinaries(installed, user, log)
    const password = await ensureCluster(directory, binaries, user)
    const data = await realpath(path.join(directory, 'data'))
    await stopLeftServer(data, binaries, log)
    const start = (port?: number) =>
      startServer({
        binaries,
        data,
        user,
        settings: { ...smallSite, max_connections: String(maxConnections), ...settings },
        port,
        log,
      })
    const server = await start()
    stopServer = server.stop
    const serverUrl = `postgresql://${superuser}:${password}@127.0.0.1:${server.port}`
    await ensureDatabase(serverUrl, database)

    const supervised = superviseServer(server, () => start(server.port), log)
    let stopped: Promise<void> | undefined
    const stop = () => {
      stopped ??= supervised.stop().finally(release)
      return stopped
    }
    return { url: `${serverUrl}/${encodeURIComponent(database)}`, exited: supervised.exited, stop }
  } catch (error) {
    await stopServer()
    await release()
    throw error
  }
}
