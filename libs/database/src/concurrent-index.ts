import { createHash } from 'node:crypto'
import { type ClientBase, escapeIdentifier } from 'pg'
import { type LockRetry, retryLocked, withLockTimeout } from './lock-timeout.ts'
import { MigrationError } from './migration-error.ts'

/** A migration that creates or drops one index without blocking writers. It cannot run in a transaction. */
export type ConcurrentMigration =
  | { kind: 'create'; unique: boolean; name: string; schema: string; table: string; definition: string }
  | { kind: 'drop'; schema: string; name: string }

type Index = { schema: string; table: string; name: string; unique: boolean; definition: string }

const NAME = '"?([a-z_][a-z0-9_]{0,62})"?'
const CREATE = new RegExp(
  String.raw`^CREATE\s+(UNIQUE\s+)?INDEX\s+CONCURRENTLY\s+IF\s+NOT\s+EXISTS\s+${NAME}\s+ON\s+${NAME}\.${NAME}\s*([^;]+?)\s*;?$`,
  'i',
)
const DROP = new RegExp(String.raw`^DROP\s+INDEX\s+CONCURRENTLY\s+IF\s+EXISTS\s+${NAME}\.${NAME}\s*;?$`, 'i')

/** The longest name of PostgreSQL, in bytes. Names of tables and indexes are ASCII. */
const MAX_NAME = 63

const INVALID = `
  SELECT 1 FROM pg_index JOIN pg_class c ON c.oid = indexrelid JOIN pg_namespace n ON n.oid = relnamespace
  WHERE nspname = $1 AND relname = $2 AND NOT indisvalid`
const PARTITIONED = `SELECT relkind = 'p' AS partitioned FROM pg_class WHERE oid = $1::regclass`
/** The partitions of a table that lack one of its indexes, the earliest first. */
const PARTITIONS_WITHOUT = `
  SELECT nspname AS schema, relname AS table
  FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid JOIN pg_namespace n ON n.oid = c.relnamespace
  WHERE i.inhparent = $1::regclass AND NOT EXISTS (
    SELECT FROM pg_inherits a JOIN pg_index x ON x.indexrelid = a.inhrelid
    WHERE a.inhparent = $2::regclass AND x.indrelid = c.oid)
  ORDER BY relname LIMIT 1`

/**
 * Reads a migration with `CONCURRENTLY`; undefined for one without.
 * @throws MigrationError when it is more than one such statement, which cannot be resumed after an interruption
 */
export const readConcurrentMigration = (sql: string): ConcurrentMigration | undefined => {
  const statement = sql.replaceAll(/--.*$/gm, '').trim()
  if (!/\bINDEX\s+CONCURRENTLY\b/i.test(statement)) return undefined
  const [, unique, name, schema, table, definition] = CREATE.exec(statement) ?? []
  if (name && schema && table && definition)
    return { kind: 'create', unique: unique !== undefined, name, schema, table, definition }
  const [, dropSchema, dropName] = DROP.exec(statement) ?? []
  if (dropSchema && dropName) return { kind: 'drop', schema: dropSchema, name: dropName }
  throw new MigrationError(
    'A migration with CONCURRENTLY is one statement: CREATE [UNIQUE] INDEX CONCURRENTLY IF NOT EXISTS name ON ' +
      'schema.table …, or DROP INDEX CONCURRENTLY IF EXISTS schema.name',
  )
}

/**
 * Runs it, or continues one that was interrupted. On a partitioned table it builds the index of one partition after the
 * other and attaches it; partitions that are added meanwhile get theirs from PostgreSQL.
 */
export const runConcurrentMigration = async (
  client: ClientBase,
  migration: ConcurrentMigration,
  retry: LockRetry,
): Promise<void> => {
  if (migration.kind === 'drop')
    return retryLocked(migration.name, () => drop(client, migration.schema, migration.name), retry)
  const table = qualified(migration.schema, migration.table)
  const { rows } = await client.query<{ partitioned: boolean }>(PARTITIONED, [table])
  if (rows[0]?.partitioned) await buildOnPartitions(client, migration, retry)
  else await build(client, migration, retry)
}

/**
 * The name of the index of a partition. PostgreSQL would cut a longer one, and two indexes whose names have the same
 * beginning would get the same name: the second would not be built.
 */
export const partitionIndexName = (partition: string, index: string): string => {
  const name = `${partition}_${index}`
  if (name.length <= MAX_NAME) return name
  const hash = createHash('sha256').update(name).digest('hex').slice(0, 8)
  return `${name.slice(0, MAX_NAME - hash.length - 1)}_${hash}`
}

const buildOnPartitions = async (client: ClientBase, index: Index, retry: LockRetry): Promise<void> => {
  const [parent, parentIndex] = [qualified(index.schema, index.table), qualified(index.schema, index.name)]
  // It has no rows of its own, so this takes no time; but it needs a lock that writers conflict with.
  const createParent = () =>
    client.query(
      `CREATE ${index.unique ? 'UNIQUE ' : ''}INDEX IF NOT EXISTS ${escapeIdentifier(index.name)} ON ONLY ${parent} ${index.definition}`,
    )
  await withLockTimeout(client, index.name, createParent, retry)
  for (;;) {
    const { rows } = await client.query<{ schema: string; table: string }>(PARTITIONS_WITHOUT, [
      parent,
      parentIndex,
    ])
    const [partition] = rows
    if (!partition) return
    const name = partitionIndexName(partition.table, index.name)
    await build(client, { ...index, ...partition, name }, retry)
    const attach = () =>
      client.query(`ALTER INDEX ${parentIndex} ATTACH PARTITION ${qualified(partition.schema, name)}`)
    await withLockTimeout(client, name, attach, retry)
    retry.log(`Built the index ${name}`)
  }
}

const build = (client: ClientBase, index: Index, retry: LockRetry): Promise<void> =>
  retryLocked(
    index.name,
    async () => {
      // An interrupted build leaves an invalid index, which IF NOT EXISTS would keep.
      await dropInvalid(client, index)
      try {
        await client.query(
          `CREATE ${index.unique ? 'UNIQUE ' : ''}INDEX CONCURRENTLY IF NOT EXISTS ${escapeIdentifier(index.name)}
           ON ${qualified(index.schema, index.table)} ${index.definition}`,
        )
      } catch (error) {
        // Writers would maintain the invalid index. A broken connection leaves it to the next run.
        await dropInvalid(client, index).catch(() => {})
        throw error
      }
    },
    retry,
  )

const dropInvalid = async (client: ClientBase, { schema, name }: Index): Promise<void> => {
  const { rows } = await client.query(INVALID, [schema, name])
  if (rows.length > 0) await drop(client, schema, name)
}

const drop = async (client: ClientBase, schema: string, name: string): Promise<void> => {
  await client.query(`DROP INDEX CONCURRENTLY IF EXISTS ${qualified(schema, name)}`)
}

const qualified = (schema: string, name: string): string =>
  `${escapeIdentifier(schema)}.${escapeIdentifier(name)}`
