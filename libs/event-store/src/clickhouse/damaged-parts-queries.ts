import type { ClickHouseClient } from '@clickhouse/client'

const TABLES = ['events', 'profiles']

// The first and the last source are there, so no source is deleted yet. ClickHouse repairs replicated tables by itself.
const FIND_REPAIRABLE = `
  SELECT whole.table AS name
  FROM system.parts AS whole
  JOIN system.parts AS source
    ON source.database = whole.database AND source.table = whole.table AND source.partition_id = whole.partition_id
  WHERE whole.database = currentDatabase() AND whole.engine = 'ReplacingMergeTree' AND whole.active AND NOT source.active
    AND source.level < whole.level
    AND source.min_block_number >= whole.min_block_number AND source.max_block_number <= whole.max_block_number
    AND position({damage:String}, concat('/', whole.name, '/')) > 0
  GROUP BY whole.table, whole.name, whole.min_block_number, whole.max_block_number
  HAVING min(source.min_block_number) = whole.min_block_number AND max(source.max_block_number) = whole.max_block_number`
const DETACH = 'DETACH TABLE IF EXISTS {name:Identifier} SYNC'
const ATTACH = 'ATTACH TABLE IF NOT EXISTS {name:Identifier}'

/**
 * Reloads the tables with a damaged part that `damage`, the message of an error, names, while the parts that it was merged
 * from are still on the disk. ClickHouse checks the parts of a table that it loads: it sets the damaged one aside, and
 * serves those that it was merged from. Writes meanwhile fail, and are repeated by their callers.
 * @returns whether a table was reloaded
 */
export const reloadDamagedTables = async (client: ClickHouseClient, damage: string): Promise<boolean> => {
  const found = await client.query({
    query: FIND_REPAIRABLE,
    query_params: { damage },
    format: 'JSONEachRow',
  })
  const tables = await found.json<{ name: string }>()
  for (const { name } of tables) {
    await client.command({ query: DETACH, query_params: { name } })
    await client.command({ query: ATTACH, query_params: { name } })
  }
  return tables.length > 0
}

/** Attaches tables that a process has detached and, because it ended, not attached again. */
export const attachTables = async (client: ClickHouseClient): Promise<void> => {
  for (const name of TABLES) await client.command({ query: ATTACH, query_params: { name } })
}
