import {
  type ClickHouseClient,
  ClickHouseError,
  type ClickHouseSettings,
  type QueryParams,
} from '@clickhouse/client'

/** CANNOT_READ_ALL_DATA. A merge during which the disk filled up may leave an empty skip index beside whole columns. */
const CANNOT_READ_ALL_DATA = '33'

/** Reads rows. If a part's skip index is damaged, it reads without skip indexes, which takes longer. */
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
    if (!(error instanceof ClickHouseError) || error.code !== CANNOT_READ_ALL_DATA) throw error
    return await read({ use_skip_indexes: 0 })
  }
}
