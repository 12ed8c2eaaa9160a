import { createHash, randomUUID } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Client, type ClientBase, type Pool } from 'pg'
import { readConcurrentMigration, runConcurrentMigration } from './concurrent-index.ts'
import { type LockRetry, withLockTimeout } from './lock-timeout.ts'
import { MigrationError, MigrationsPendingError } from './migration-error.ts'
import { missingPrivileges } from './missing-privileges.ts'
import type { ServiceName } from './service-roles.ts'
import { isTransient } from './sql-errors.ts'

const DIRECTORY = path.join(import.meta.dirname, '../prisma/migrations')

// The lock that Prisma's own CLI takes.
const LOCK_KEY = 72_707_369
/** How often a process checks whether another one has finished its migrations, in ms. */
const LOCK_POLL_MS = 1_000
/** How long connecting may take, in ms. A server that hangs accepts a connection and does not answer. */
const CONNECT_TIMEOUT_MS = 10_000
/** How often the server checks during a statement whether this process still exists, in ms. */
const CONNECTION_CHECK_MS = 10_000
/** When both sides begin to check that the machine of the other one still exists, in ms. */
const KEEP_ALIVE_AFTER_MS = 10_000

const CREATE_RECORDS = `
  CREATE TABLE public._prisma_migrations (
    id VARCHAR(36) PRIMARY KEY NOT NULL,
    checksum VARCHAR(64) NOT NULL,
    finished_at TIMESTAMPTZ,
    migration_name VARCHAR(255) NOT NULL,
    logs TEXT,
    rolled_back_at TIMESTAMPTZ,
    started_at TIMESTAMPTZ NOT NULL DEFAULT now(),
    applied_steps_count INTEGER NOT NULL DEFAULT 0
  )`
const STARTED = `
  INSERT INTO public._prisma_migrations (id, checksum, migration_name, started_at)
  VALUES ($1, $2, $3, clock_timestamp())`
const FINISHED = `
  UPDATE public._prisma_migrations SET finished_at = clock_timestamp(), applied_steps_count = 1 WHERE id = $1`
const APPLIED = `
  INSERT INTO public._prisma_migrations
    (id, checksum, migration_name, started_at, finished_at, applied_steps_count)
  VALUES ($1, $2, $3, $4, clock_timestamp(), 1)`
const FAILED = `
  INSERT INTO public._prisma_migrations (id, checksum, migration_name, logs) VALUES ($1, $2, $3, $4)`
const RECORDS = `
  SELECT migration_name AS name, checksum, logs, finished_at IS NOT NULL AS finished
  FROM public._prisma_migrations WHERE rolled_back_at IS NULL ORDER BY started_at`
const RECORDS_EXIST = `SELECT to_regclass('public._prisma_migrations') IS NOT NULL AS exist`

type Migration = { name: string; sql: string }
export type MigrationRecord = { name: string; checksum: string; logs: string | null; finished: boolean }

type MigrateOptions = {
  /** Receives a message for each migration. */
  log?: (message: string) => void
  /** Receives a message when it waits for a lock or for another process. Default: `log`. */
  warn?: (message: string) => void
  /** Called before the migrations while holding the lock, to prepare another store. */
  whileLocked?: () => Promise<void>
  /** The directory of migrations in Prisma's layout; default: those of this package. */
  directory?: string
  /** Pause before a migration that did not get a lock is tried again, in ms. Default: 5 s. */
  lockPauseMs?: number
  /** Ends waiting for a lock or another process, and begins no further migration. A running statement ends first. */
  signal?: AbortSignal
}

/**
 * Applies the missing migrations in the order of their names. It is compatible with `prisma migrate deploy` and its
 * records. Several processes may call it at once: one applies the migrations, the others wait. Each migration and its
 * record are one transaction, except those of one statement with CONCURRENTLY. An interrupted run is continued by the
 * next. A migration that does not get a lock within two seconds is repeated until it does, so that writers do not
 * wait behind it. It needs a direct connection (no PgBouncer in transaction mode) and the right to create schemas.
 * @returns the names of the applied migrations
 * @throws MigrationError when a migration fails or failed before, or an applied one was changed; AbortError when `signal`
 * aborts
 */
export const migrate = async (
  url: string,
  {
    log = () => {},
    warn = log,
    whileLocked,
    directory = DIRECTORY,
    lockPauseMs,
    signal,
  }: MigrateOptions = {},
): Promise<string[]> => {
  const known = await readMigrations(directory)
  const client = new Client({
    connectionString: url,
    application_name: 'waymark-migrate',
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_AFTER_MS,
  })
  // A lost connection rejects the query as well; without a listener it would end the process.
  client.on('error', () => {})
  await client.connect()
  try {
    await client.query('SET statement_timeout = 0')
    // By default, the session of a migrator whose machine is gone would keep the lock for two hours.
    await client.query(
      `SET tcp_keepalives_idle = ${KEEP_ALIVE_AFTER_MS / 1_000}; SET tcp_keepalives_interval = 5; SET tcp_keepalives_count = 4`,
    )
    // So that the build of an index ends soon after its migrator was killed. Not every platform has it.
    await client.query(`SET client_connection_check_interval = ${CONNECTION_CHECK_MS}`).catch(() => {})
    await lock(client, warn, signal)
    await whileLocked?.()
    if (!(await recordsExist(client))) await client.query(CREATE_RECORDS)
    const pending = pendingMigrations(known, await readRecords(client))
    for (const migration of pending) {
      signal?.throwIfAborted()
      await apply(client, migration, { log, warn, pauseMs: lockPauseMs, signal })
      log(`Applied the migration ${migration.name}`)
    }
    return pending.map(({ name }) => name)
  } finally {
    await client.end()
  }
}

/**
 * Checks that the database has all migrations of this version, and its role the privileges of a service. It may have newer
 * migrations, also failed ones. When a newer version has migrated it, privileges are not checked: they are those of that
 * version, and the setup of this one would not grant what is missing.
 * @throws MigrationsPendingError when a migration or privilege is missing; MigrationError as `migrate`
 */
export const requireMigrated = async (pool: Pool, service?: ServiceName): Promise<void> => {
  const known = await readMigrations(DIRECTORY)
  const records = await readExistingRecords(pool)
  const pending = pendingMigrations(known, records)
  if (pending.length > 0) {
    throw new MigrationsPendingError(
      `The database lacks migrations that this version needs; apply them first: ${namesOf(pending)}`,
    )
  }
  // The setup grants them after the last migration.
  const missing = service && !haveNewer(known, records) ? await missingPrivileges(pool, service) : []
  if (missing.length > 0) {
    throw new MigrationsPendingError(
      `The database role lacks privileges that this version needs; run the setup first: ${missing.join(', ')}`,
    )
  }
}

/** Whether a newer version has migrated the database. */
export const hasNewerMigrations = async (pool: Pool): Promise<boolean> =>
  haveNewer(await readMigrations(DIRECTORY), await readExistingRecords(pool))

const haveNewer = (known: readonly Migration[], records: readonly MigrationRecord[]): boolean => {
  const names = new Set(known.map(({ name }) => name))
  return records.some(({ name, finished }) => finished && !names.has(name))
}

const readExistingRecords = async (pool: Pool): Promise<MigrationRecord[]> =>
  (await recordsExist(pool)) ? readRecords(pool) : []

/**
 * The migrations to apply, oldest first. Records of other versions do not matter: a failed migration of a newer version
 * has changed nothing, and must not keep this version from being set up again.
 * @throws MigrationError when one failed before, or an applied one was changed
 */
export const pendingMigrations = (
  known: readonly Migration[],
  records: readonly MigrationRecord[],
): Migration[] => {
  const names = new Set(known.map(({ name }) => name))
  const failed = records.find(({ name, finished }) => names.has(name) && !finished)
  if (failed) {
    throw new MigrationError(
      `The migration ${failed.name} failed before, so no other is applied. Fix the cause, then mark it with ` +
        `"prisma migrate resolve --rolled-back ${failed.name}" or delete its row from _prisma_migrations. ` +
        `${failed.logs ?? 'It was interrupted.'}`,
    )
  }
  const checksums = new Map(records.map(({ name, checksum }) => [name, checksum]))
  const changed = known.filter(({ name, sql }) => {
    const checksum = checksums.get(name)
    return checksum !== undefined && !matchesChecksum(sql, checksum)
  })
  if (changed.length > 0) {
    throw new MigrationError(
      `Migrations were changed after they had been applied; restore them and add a new one: ${namesOf(changed)}`,
    )
  }
  return known.filter(({ name }) => !checksums.has(name))
}

/** Prisma's checksum of a migration: the SHA-256 of its file in hexadecimal. */
export const checksumOf = (sql: string): string => createHash('sha256').update(sql).digest('hex')

/** Like Prisma, ignores line endings that Git may have converted. */
const matchesChecksum = (sql: string, checksum: string): boolean => {
  const unix = sql.replaceAll('\r\n', '\n')
  return [sql, unix, unix.replaceAll('\n', '\r\n')].some((text) => checksumOf(text) === checksum)
}

const readMigrations = async (directory: string): Promise<Migration[]> => {
  const entries = await readdir(directory, { withFileTypes: true })
  const names = entries.filter((entry) => entry.isDirectory()).map(({ name }) => name)
  return Promise.all(
    names.sort().map(async (name) => ({
      name,
      sql: await readFile(path.join(directory, name, 'migration.sql'), 'utf8'),
    })),
  )
}

const lock = async (
  client: Client,
  warn: (message: string) => void,
  signal: AbortSignal | undefined,
): Promise<void> => {
  const tryLock = async (): Promise<boolean> => {
    const { rows } = await client.query<{ locked: boolean }>('SELECT pg_try_advisory_lock($1) AS locked', [
      LOCK_KEY,
    ])
    return rows[0]?.locked === true
  }
  if (await tryLock()) return
  warn('Waiting for another process to finish its migrations')
  // A query that waits for the lock would hold a snapshot, and CREATE INDEX CONCURRENTLY waits for older snapshots.
  do await sleep(LOCK_POLL_MS, undefined, { signal })
  while (!(await tryLock()))
}

const recordsExist = async (client: ClientBase | Pool): Promise<boolean> => {
  const { rows } = await client.query<{ exist: boolean }>(RECORDS_EXIST)
  return rows[0]?.exist === true
}

const readRecords = async (client: ClientBase | Pool): Promise<MigrationRecord[]> =>
  (await client.query<MigrationRecord>(RECORDS)).rows

const apply = async (client: Client, migration: Migration, retry: LockRetry): Promise<void> => {
  const { name, sql } = migration
  const record = [randomUUID(), checksumOf(sql), name]
  try {
    const concurrent = readConcurrentMigration(sql)
    if (concurrent) {
      const startedAt = new Date()
      await runConcurrentMigration(client, concurrent, retry)
      await client.query(APPLIED, [...record, startedAt])
    } else {
      await withLockTimeout(client, name, () => applyInTransaction(client, sql, record), retry)
    }
  } catch (error) {
    // Nothing was changed, and the next run can try again.
    if (isTransient(error) || retry.signal?.aborted) throw error
    const reason = describe(error)
    await client.query(FAILED, [...record, `The migration ${name} failed.\n\n${reason}`])
    throw new MigrationError(`The migration ${name} failed and changed nothing. ${reason}`, { cause: error })
  }
}

const applyInTransaction = async (client: Client, sql: string, record: readonly string[]): Promise<void> => {
  try {
    await client.query('BEGIN')
    await client.query(STARTED, [...record])
    await client.query(sql)
    await client.query(FINISHED, [record[0]])
    await client.query('COMMIT')
  } catch (error) {
    // The server rolls back when the connection is broken.
    await client.query('ROLLBACK').catch(() => {})
    throw error
  }
}

const describe = (error: unknown): string => {
  if (!(error instanceof Error)) return String(error)
  return 'code' in error ? `${error.message} (SQLSTATE ${String(error.code)})` : error.message
}

const namesOf = (migrations: readonly Migration[]): string => migrations.map(({ name }) => name).join(', ')
