import { createHash, randomUUID } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import path from 'node:path'
import { Client, type ClientBase, type Pool } from 'pg'
import { isTransient } from './sql-errors.ts'

const DIRECTORY = path.join(import.meta.dirname, '../prisma/migrations')

// The lock that Prisma's own CLI takes.
const LOCK_KEY = 72_707_369

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
const FAILED = `
  INSERT INTO public._prisma_migrations (id, checksum, migration_name, logs) VALUES ($1, $2, $3, $4)`
const RECORDS = `
  SELECT migration_name AS name, checksum, logs, finished_at IS NOT NULL AS finished
  FROM public._prisma_migrations WHERE rolled_back_at IS NULL ORDER BY started_at`
const RECORDS_EXIST = `SELECT to_regclass('public._prisma_migrations') IS NOT NULL AS exist`

/** The database does not match the migrations of this version. The message says what to do. */
export class MigrationError extends Error {
  override name = 'MigrationError'
}

type Migration = { name: string; sql: string }
export type MigrationRecord = { name: string; checksum: string; logs: string | null; finished: boolean }

type MigrateOptions = {
  /** Receives a message for each migration, and when it waits for another process. */
  log?: (message: string) => void
  /** Called before the migrations while holding the lock, to prepare another store. */
  whileLocked?: () => Promise<void>
  /** The directory of migrations in Prisma's layout; default: those of this package. */
  directory?: string
}

/**
 * Applies the missing migrations in the order of their names. It is compatible with `prisma migrate deploy` and its
 * records. Several processes may call it at once: one applies the migrations, the others wait. Each migration and its
 * record are one transaction. It needs a direct connection (no PgBouncer in transaction mode) and the right to create
 * schemas.
 * @returns the names of the applied migrations
 * @throws MigrationError when a migration fails or failed before, or an applied one was changed
 */
export const migrate = async (
  url: string,
  { log = () => {}, whileLocked, directory = DIRECTORY }: MigrateOptions = {},
): Promise<string[]> => {
  const known = await readMigrations(directory)
  const client = new Client({ connectionString: url, application_name: 'waymark-migrate', keepAlive: true })
  // A lost connection rejects the query as well; without a listener it would end the process.
  client.on('error', () => {})
  await client.connect()
  try {
    await client.query('SET statement_timeout = 0')
    await lock(client, log)
    await whileLocked?.()
    if (!(await recordsExist(client))) await client.query(CREATE_RECORDS)
    const pending = pendingMigrations(known, await readRecords(client))
    for (const migration of pending) {
      await apply(client, migration)
      log(`Applied the migration ${migration.name}`)
    }
    return pending.map(({ name }) => name)
  } finally {
    await client.end()
  }
}

/**
 * Checks that the database has all migrations of this version. It may have newer ones.
 * @throws MigrationError when one is missing, or as `migrate`
 */
export const requireMigrated = async (pool: Pool): Promise<void> => {
  const known = await readMigrations(DIRECTORY)
  const records = (await recordsExist(pool)) ? await readRecords(pool) : []
  const pending = pendingMigrations(known, records)
  if (pending.length > 0) {
    throw new MigrationError(
      `The database lacks migrations that this version needs; apply them first: ${namesOf(pending)}`,
    )
  }
}

/**
 * The migrations to apply, oldest first.
 * @throws MigrationError when one failed before, or an applied one was changed
 */
export const pendingMigrations = (
  known: readonly Migration[],
  records: readonly MigrationRecord[],
): Migration[] => {
  const failed = records.find(({ finished }) => !finished)
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

const lock = async (client: Client, log: (message: string) => void): Promise<void> => {
  const { rows } = await client.query<{ locked: boolean }>('SELECT pg_try_advisory_lock($1) AS locked', [
    LOCK_KEY,
  ])
  if (rows[0]?.locked) return
  log('Waiting for another process to finish its migrations')
  await client.query('SELECT pg_advisory_lock($1)', [LOCK_KEY])
}

const recordsExist = async (client: ClientBase | Pool): Promise<boolean> => {
  const { rows } = await client.query<{ exist: boolean }>(RECORDS_EXIST)
  return rows[0]?.exist === true
}

const readRecords = async (client: ClientBase | Pool): Promise<MigrationRecord[]> =>
  (await client.query<MigrationRecord>(RECORDS)).rows

const apply = async (client: Client, { name, sql }: Migration): Promise<void> => {
  const record = [randomUUID(), checksumOf(sql), name]
  try {
    await client.query('BEGIN')
    await client.query(STARTED, record)
    await client.query(sql)
    await client.query(FINISHED, [record[0]])
    await client.query('COMMIT')
  } catch (error) {
    // The transaction was rolled back, and the next run can try again.
    if (isTransient(error)) throw error
    await client.query('ROLLBACK')
    const reason = describe(error)
    await client.query(FAILED, [...record, `The migration ${name} failed.\n\n${reason}`])
    throw new MigrationError(`The migration ${name} failed and changed nothing. ${reason}`, { cause: error })
  }
}

const describe = (error: unknown): string => {
  if (!(error instanceof Error)) return String(error)
  return 'code' in error ? `${error.message} (SQLSTATE ${String(error.code)})` : error.message
}

const namesOf = (migrations: readonly Migration[]): string => migrations.map(({ name }) => name).join(', ')
