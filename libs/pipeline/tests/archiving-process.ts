// What persistence-consumer does with the archive in a separate process, for tests that kill it.
import { readFile } from 'node:fs/promises'
import { setImmediate, setInterval } from 'node:timers/promises'
import type { EnrichedEvent } from '@waymark/contracts/records/enriched-event'
import { openDatabase } from '@waymark/database'
import { createDirectoryStore, type FileStore } from '@waymark/event-files'
import { openDuckDBStore } from '@waymark/event-store/duckdb'
import { createArchiveEraser, createArchiver } from '../src/archive/index.ts'

const { DATABASE_URL = '', FOLDER = '', NOW = '', FORMAT, EVENTS = '' } = process.env
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
const events = await openDuckDBStore({
  path: ':memory:',
  memoryBytes: 256 * 1024 * 1024,
  threads: 1,
  queryTimeoutMs: 60_000,
})
await events.storeEvents(JSON.parse(await readFile(EVENTS, 'utf8')) as EnrichedEvent[])
const writeFile = createArchiver({ db, store, events, format, log, now: () => Number(NOW), maxEvents: 20 })
const erase = createArchiveEraser({ db, store, log })
const { signal } = new AbortController()
for await (const _ of setInterval(20)) {
  let worked: number[]
  // Another process may have the file, or have removed what this one reads.
  do worked = [await writeFile(signal).catch(() => 0), await erase(signal).catch(() => 0)]
  while (worked.includes(1))
}
