import { createArchiveEraser, readWaitingErasures } from '@waymark/pipeline'
import { runService } from '@waymark/service-kit'
import { openArchiveAndDatabase } from './open-archive.ts'

const MAX_FAILURES = 10
const env = { ...process.env, LOG_LEVEL: process.env.LOG_LEVEL || 'warn' }

// Takes the events of erased people out of the files of the archive, as persistence-consumer does in the background, and
// ends with 1 when erasures are left, such as those of a file that cannot be read.
await runService('erase-archive', env, async ({ scope, log, signal }) => {
  const { db, store } = await openArchiveAndDatabase('erase-archive', env, scope)
  let [files, events] = [0, 0]
  const erase = createArchiveEraser({
    db,
    store,
    log,
    onFile: (erased) => {
      files++
      events += erased
    },
  })
  // Erasures that fail are not due for a while, so that others follow.
  for (let [worked, failures] = [1, 0]; worked > 0 && failures < MAX_FAILURES && !signal.aborted; )
    worked = await erase(signal).catch((error) => {
      process.stdout.write(`${error instanceof Error ? error.message : error}\n`)
      return ++failures
    })
  const { count } = await readWaitingErasures(db.pool)
  process.stdout.write(`${events} events taken out of ${files} files, ${count} erasures left\n`)
  if (count > 0) process.exitCode = 1
  await scope.dispose()
})
