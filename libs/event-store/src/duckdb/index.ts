import { createQueries } from '../sql/queries.ts'
import type { EventStore } from '../store.ts'
import { duckdbDialect } from './dialect.ts'
import { type DuckDBFile, type DuckDBOptions, openDuckDBFile } from './file.ts'
import { createWrites } from './write-queries.ts'

export { type DuckDBFile, openDuckDBFile } from './file.ts'

/**
 * The event store in one DuckDB file, for one process.
 * @throws Error when another process has the file open, or when a newer version of Waymark wrote it
 */
export const openDuckDBStore = async (options: DuckDBOptions): Promise<EventStore> =>
  createDuckDBStore(await openDuckDBFile(options))

/** The event store in an open file, which it closes. */
export const createDuckDBStore = (file: DuckDBFile): EventStore => {
  const database = { dialect: duckdbDialect, query: file.query }
  return {
    ...createWrites(file, database),
    ...createQueries(database),
    close: () => file.close(),
  }
}
