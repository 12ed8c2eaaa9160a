// What persistence-consumer does with the archive in a separate process, for tests that kill it.
import { setImmediate, setInterval } from 'node:timers/promises'
import { openDatabase } from '@waymark/database'
import { createDirectoryStore, type FileStore } from '@waymark/event-files'
import { createArchiveEraser, createArchiver } from '../src/archive/index.ts'

const { DATABASE_URL = '', FOLDER = '', NOW = '', FORMAT } = process.env
const db = openDatabase({ url: DATABASE_URL, poolSize: 4, applicationName: 'archiver', onError: () => {} })
const directory = createDirectoryStore(FOLDER)
/** Lets a kill hit any step. */
const slowly = async <T>(work: () => Promise<T>): Promise<T> => {
  await setImmediate()
  const done = await work()
  await setImmediate()
  return done
}
const store: FileStore = {
  ...directory,
  put: (name, content, signal) =>
    slowly(() =>
      directory.put(
        name,
        (async function* () {
          for await (const piece of content) {
            yield piece
            await setImmediate()
          }
        })(),
        signal,
      ),
    ),
  remove: (name) => slowly(() => directory.remove(name)),
}
const log = { warn: () => {} }
const format = FORMAT === 'parquet' ? 'parquet' : 'jsonl.gz'
const writeFile = createArchiver({ db, store, format, log, now: () => Number(NOW), maxEvents: 20 })
const erase = createArchiveEraser({ db, store, log })
const { signal } = new AbortController()
for await (const _ of setInterval(20)) {
  let worked: number[]
  // Another process may have the file, or have removed what this one reads.
  do worked = [await writeFile(signal).catch(() => 0), await erase(signal).catch(() => 0)]
  while (worked.includes(1))
}
