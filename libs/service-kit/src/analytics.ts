import type { AnalyticsStore } from '@waymark/analytics'
import { type Config, readConfig } from './config.ts'
import type { Scope } from './scope.ts'
import { type clickhouseConfig, duckdbConfig } from './stores-config.ts'
import { clickhouseOptions } from './stores-options.ts'

// Imported when they are called, so that a process loads the client of its own store only.

/** Opens the analytics store in ClickHouse until the scope ends. The server may be away and come later. */
export const openClickHouse = async (
  config: Config<typeof clickhouseConfig>,
  scope: Scope,
): Promise<AnalyticsStore> => {
  const { openClickHouseStore } = await import('@waymark/analytics/clickhouse')
  const store = openClickHouseStore(clickhouseOptions(config))
  scope.onStop('analytics', () => store.close())
  return store
}

/** Where the embedded analytics store keeps its data, and how much of the machine it may use. */
export type EmbeddedAnalytics = {
  /** The data file; `:memory:` keeps nothing. */
  file: string
  settings: Config<typeof duckdbConfig>
}

/** A store that keeps nothing after its process, such as that of a test. */
export const analyticsInMemory = (): EmbeddedAnalytics => ({
  file: ':memory:',
  settings: readConfig(duckdbConfig, {}),
})

/**
 * Opens the analytics store in a file of this process until the scope ends.
 * @throws Error when another process has the file open, or when a newer version of Waymark wrote it
 */
export const openDuckDB = async (
  { file, settings }: EmbeddedAnalytics,
  scope: Scope,
): Promise<AnalyticsStore> => {
  const { openDuckDBStore } = await import('@waymark/analytics/duckdb')
  const { memoryMb, threads, queryTimeoutMs } = settings
  const store = await openDuckDBStore({
    path: file,
    memoryBytes: memoryMb * 1_000_000,
    threads,
    queryTimeoutMs,
  })
  scope.onStop('analytics', () => store.close())
  return store
}
