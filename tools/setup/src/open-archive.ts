import path from 'node:path'
import { type Database, openDatabase, startEmbeddedPostgres } from '@waymark/database'
import type { FileStore } from '@waymark/event-files'
import type { EventStore } from '@waymark/event-store'
import {
  archiveConfig,
  clickhouseConfig,
  databaseConfig,
  databaseUrl,
  duckdbConfig,
  openArchive,
  openClickHouse,
  openDuckDB,
  readConfig,
  type Scope,
  variable,
} from '@waymark/service-kit'
import { Type } from 'typebox'

/** For statements that count all events of an hour. */
const STATEMENT_TIMEOUT_MS = 10 * 60 * 1000

const dataDir = variable('WAYMARK_DATA_DIR', Type.String({ default: '.waymark' }))

/**
 * Opens the archive and its database until the scope ends. Without DATABASE_URL it starts the database of the standalone
 * process, which must not run.
 * @throws Error when there is no archive
 */
export const openArchiveAndDatabase = async (
  applicationName: string,
  env: NodeJS.ProcessEnv,
  scope: Scope,
): Promise<{ db: Database; store: FileStore }> => {
  const config = readConfig({ dataDir, archive: archiveConfig }, env)
  const directory = path.resolve(config.dataDir)
  const standalone = !env.DATABASE_URL
  const archive = await openArchive(config.archive, standalone ? path.join(directory, 'archive') : undefined)
  if (!archive) throw new Error('ARCHIVE_S3_BUCKET is not set, so there is no archive')
  scope.onStop('archive', async () => archive.store.close())
  const postgres = standalone
    ? await startEmbeddedPostgres({ dataDir: path.join(directory, 'postgres'), log: () => {} })
    : undefined
  if (postgres) scope.onStop('postgres', () => postgres.stop())
  const url = postgres?.url ?? databaseUrl(readConfig({ database: databaseConfig }, env).database)
  const db = openDatabase({
    url,
    poolSize: 2,
    applicationName,
    statementTimeoutMs: STATEMENT_TIMEOUT_MS,
    onError: () => {},
  })
  scope.onStop('database', () => db.close())
  return { db, store: archive.store }
}

/** Opens the event store until the scope ends: ClickHouse or, without DATABASE_URL, that of the standalone process. */
export const openEventStore = async (env: NodeJS.ProcessEnv, scope: Scope): Promise<EventStore> => {
  if (env.DATABASE_URL)
    return openClickHouse(readConfig({ clickhouse: clickhouseConfig }, env).clickhouse, scope)
  const { dataDir: directory, settings } = readConfig({ dataDir, settings: duckdbConfig }, env)
  return openDuckDB({ file: path.join(path.resolve(directory), 'analytics.duckdb'), settings }, scope)
}
