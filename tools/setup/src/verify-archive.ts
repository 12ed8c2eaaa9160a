import path from 'node:path'
import { openDatabase, startEmbeddedPostgres } from '@waymark/database'
import { verifyArchive } from '@waymark/pipeline'
import {
  archiveConfig,
  databaseConfig,
  databaseUrl,
  openArchive,
  readConfig,
  runService,
  variable,
} from '@waymark/service-kit'
import { Type } from 'typebox'

const env = { ...process.env, LOG_LEVEL: process.env.LOG_LEVEL || 'warn' }
const dataDir = variable('WAYMARK_DATA_DIR', Type.String({ default: '.waymark' }))

// Compares the files of the archive with the database, and ends with 1 when a file is missing or damaged, or when an hour
// has stored events that are not in the archive. Without DATABASE_URL it starts the database of the standalone process,
// which must not run.
await runService('verify-archive', env, async ({ scope }) => {
  const config = readConfig({ dataDir, archive: archiveConfig }, env)
  const directory = path.resolve(config.dataDir)
  const standalone = !process.env.DATABASE_URL
  const archive = await openArchive(config.archive, standalone ? path.join(directory, 'archive') : undefined)
  if (!archive) throw new Error('ARCHIVE_S3_BUCKET is not set, so there is no archive')
  const postgres = standalone
    ? await startEmbeddedPostgres({ dataDir: path.join(directory, 'postgres'), log: () => {} })
    : undefined
  if (postgres) scope.onStop('postgres', () => postgres.stop())
  const url = postgres?.url ?? databaseUrl(readConfig({ database: databaseConfig }, env).database)
  const db = openDatabase({ url, poolSize: 2, applicationName: 'verify-archive', onError: () => {} })
  scope.onStop('database', () => db.close())
  const { files, events, problems, hours } = await verifyArchive(db.pool, archive.store)
  for (const { file, problem } of problems) process.stdout.write(`${file} ${problem}\n`)
  for (const { projectId, hour, archived, stored } of hours)
    process.stdout.write(
      `${hour.toISOString()} of project ${projectId}: ${archived} archived, ${stored} stored\n`,
    )
  process.stdout.write(`${files} files with ${events} events, ${problems.length} problems\n`)
  if (problems.length > 0 || hours.some(({ archived, stored }) => stored > archived)) process.exitCode = 1
  await scope.dispose()
})
