import { verifyArchive } from '@waymark/pipeline'
import { runService } from '@waymark/service-kit'
import { openArchiveAndDatabase, openEventStore } from './open-archive.ts'

const env = { ...process.env, LOG_LEVEL: process.env.LOG_LEVEL || 'warn' }

// Compares the files of the archive with the database and the event store, and ends with 1 when a file is missing or damaged, when a file would
// be read that no manifest names, or when an hour has stored events that are not in the archive.
await runService('verify-archive', env, async ({ scope }) => {
  const { db, store } = await openArchiveAndDatabase('verify-archive', env, scope)
  const stored = await openEventStore(env, scope)
  const { files, events, problems, others, hours } = await verifyArchive(db.pool, store, stored)
  for (const { file, problem } of problems) process.stdout.write(`${file} ${problem}\n`)
  for (const file of others) process.stdout.write(`${file} is not a file of the archive\n`)
  for (const { projectId, hour, archived, stored } of hours)
    process.stdout.write(
      `${hour.toISOString()} of project ${projectId}: ${archived} archived, ${stored} stored\n`,
    )
  process.stdout.write(`${files} files with ${events} events, ${problems.length} problems\n`)
  if (problems.length > 0 || hours.some(({ archived, stored }) => stored > archived)) process.exitCode = 1
  await scope.dispose()
})
