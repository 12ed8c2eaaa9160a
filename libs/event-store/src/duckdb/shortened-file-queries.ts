import { stat } from 'node:fs/promises'
import type { DuckDBConnection } from '@duckdb/node-api'

/** Bytes of a file before its first block. */
const HEADER_BYTES = 3 * 4096
const LAST_BLOCK = `
  WITH segments AS (
    SELECT block_id, additional_block_ids FROM pragma_storage_info('events') WHERE persistent
    UNION ALL SELECT block_id, additional_block_ids FROM pragma_storage_info('profiles') WHERE persistent
  )
  SELECT max(block) AS last, (SELECT block_size FROM pragma_database_size()) AS size
  FROM (SELECT block_id AS block FROM segments UNION ALL SELECT unnest(additional_block_ids) FROM segments) AS blocks`

/** @throws Error when the end of the file is missing, which DuckDB notices only when a query reads it */
export const refuseShortened = async (connection: DuckDBConnection, path: string): Promise<void> => {
  if (path === ':memory:') return
  const [blocks] = (await connection.runAndReadAll(LAST_BLOCK)).getRowObjectsJS()
  if (blocks?.last == null) return
  const bytes = HEADER_BYTES + (Number(blocks.last) + 1) * Number(blocks.size)
  const { size } = await stat(path)
  if (size < bytes) throw new Error(`Could not read enough bytes: the file has ${size} of at least ${bytes}`)
}
