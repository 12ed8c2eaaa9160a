import type { EventStore } from '@waymark/event-store'
import { type Config, readConfig } from './config.ts'
import type { Scope } from './scope.ts'
import { type clickhouseConfig, duckdbConfig } from './stores-config.ts'
import { clickhouseOptions } from './stores-options.ts'

// Each function imports its client, so that a process loads only the one that it uses.

/** Opens the event store in ClickHouse until the scope ends. It connects on first use. */
export const openClickHouse = async (
  config: Config<typeof clickhouseConfig>,
  scope: Scope,
): Promise<EventStore> => {
  const { openClickHouseStore } = await import('@waymark/event-store/clickhouse')
  const store = openClickHouseStore(clickhouseOptions(config))
  scope.onStop('event store', () => store.close())
  return store
}

/** Options of the embedded event store. */
export type EmbeddedEventStore = {
  /** The data file, or `:memory:`. */
  file: string
  settings: Config<typeof duckdbConfig>
}

/** Options of a store in memory. */
export const eventStoreInMemory = (): EmbeddedEventStore => ({
  file: ':memory:',
  settings: readConfig(duckdbConfig, {}),
})

/**
 * Opens the embedded event store until the scope ends.
 * @throws Error when another process has the file open, or when a newer version of Waymark wrote it
 */
export const openDuckDB = async (
  { file, settings }: EmbeddedEventStore,
  scope: Scope,
): Promise<EventStore> => {
  const { openDuckDBStore } = await import('@waymark/event-store/duckdb')
  const { memoryMb, threads, queryTimeoutMs } = settings
  const store = await openDuckDBStore({
    path: file,
    memoryBytes: memoryMb * 1_000_000,
    threads,
    queryTimeoutMs,
  })
  scope.onStop('event store', () => store.close())
  return store
}
