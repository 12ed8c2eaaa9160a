import {
  type ClickHouseClient,
  ClickHouseError,
  type ClickHouseSettings,
  type QueryParams,
} from '@clickhouse/client'
import { attachTables, reloadDamagedTables } from './damaged-parts-queries.ts'

// A merge during which another program fills the disk may end with empty files.
const CANNOT_READ_ALL_DATA = '33'
const CORRUPTED_DATA = '246'
const UNKNOWN_TABLE = '60'

/**
 * Reads rows. After an error by a damaged part it repairs the table, if that is possible, and reads again. A damaged skip
 * index that cannot be repaired is not used, which takes longer.
 */
export const readRows = async <T>(
  client: ClickHouseClient,
  query: Omit<QueryParams, 'format'>,
): Promise<T[]> => {
  const read = async (settings: ClickHouseSettings = {}): Promise<T[]> => {
    const result = await client.query({
      ...query,
      format: 'JSONEachRow',
      clickhouse_settings: { ...query.clickhouse_settings, ...settings },
    })
    return await result.json<T>()
  }
  try {
    return await read()
  } catch (error) {
    if (!(error instanceof ClickHouseError)) throw error
    switch (error.code) {
      case UNKNOWN_TABLE:
        if (await attachTables(client)) return await read()
        throw error
      case CORRUPTED_DATA:
      case CANNOT_READ_ALL_DATA:
        if (await reloadDamagedTables(client, error.message)) return await read()
        return await read({ use_skip_indexes: 0 })
      default:
        throw error
    }
  }
}
