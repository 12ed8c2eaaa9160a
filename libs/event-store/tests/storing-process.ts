// Stores batches of 100 events in a DuckDB file in a separate process, for tests that kill it.
import type { EnrichedEvent } from '@waymark/contracts/records/enriched-event'
import { createDuckDBStore, openDuckDBFile } from '../src/duckdb/index.ts'

const [path = '', example = '', checkpointThreshold = '16MB'] = process.argv.slice(2)
const event: EnrichedEvent = JSON.parse(example)
const file = await openDuckDBFile({
  path,
  memoryBytes: 256 * 1024 * 1024,
  threads: 1,
  queryTimeoutMs: 10_000,
})
await file.write([[`SET GLOBAL checkpoint_threshold = '${checkpointThreshold}'`, []]])
const store = createDuckDBStore(file)
for (let batch = 0; ; batch++) {
  const idOf = (n: number) => `${process.pid} ${batch} ${n}`
  await store.storeEvents(Array.from({ length: 100 }, (_, n) => ({ ...event, eventId: idOf(n) })))
  process.stdout.write('stored\n')
}
