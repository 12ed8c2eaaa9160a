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

export type EmbeddedPostgres = {
  /** With the password in it: not for logs. */
  url: string
  /** Resolves when the server has ended for good: by `stop`, or by itself and could not be started again. */
  exited: Promise<ServerExit>
  /** Ends the server within about 10 s, 20 at worst, and gives the data directory back. Idempotent. */
  stop(): Promise<void>
}

export type EmbeddedPostgresOptions = {
  /** Created when missing. Holds PostgreSQL's data, the password (mode 0600) and the locks. */
  dataDir: string
  /** Created when missing; default `waymark`. */
  database?: string
  /** PostgreSQL's settings, over ours. */
  settings?: Record<string, string>
  maxConnections?: number
  /** Gets PostgreSQL's warnings and errors, and what had to be done to start. */
  log?: Log
  /** How long, in milliseconds, to wait for another process to leave the data directory; default 10000. */
  waitMs?: number
}

// For one small site next to its services on one machine. Durability (fsync, synchronous_commit) stays as it is.
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
  // A lost connection rejects the query as well; without a listener it would end the process.
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
 * Starts a PostgreSQL server of our own on `dataDir` and a free port of 127.0.0.1, after creating or recovering what
 * is needed; a server that a killed process left there is stopped first. The owner must call `stop` before it exits:
 * nothing else ends the server, which does not get the terminal's Ctrl-C either. A server that ends by itself is
 * started again on the same port; `exited` resolves when that has failed six times in a row.
 * Rejects with `DataDirInUseError` when another live process works on `dataDir`, and with an `Error` that says what
 * to do when the server of a killed process still runs in another container, and when the platform, the owner of the directory or PostgreSQL itself forbids it.
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
