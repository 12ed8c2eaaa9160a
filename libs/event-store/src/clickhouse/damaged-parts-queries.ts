import type { ClickHouseClient } from '@clickhouse/client'

// The first and the last source are there, so no source is deleted yet. ClickHouse repairs replicated tables by itself.
const FIND_REPAIRABLE = `
  SELECT whole.table AS name
  FROM system.parts AS whole
  JOIN system.parts AS source
    ON source.database = whole.database AND source.table = whole.table AND source.partition_id = whole.partition_id
  WHERE whole.database = currentDatabase() AND NOT startsWith(whole.engine, 'Replicated') AND whole.active AND NOT source.active
    AND source.level < whole.level
    AND source.min_block_number >= whole.min_block_number AND source.max_block_number <= whole.max_block_number
    AND position({damage:String}, concat('/', whole.name, '/')) > 0
  GROUP BY whole.table, whole.name, whole.min_block_number, whole.max_block_number
  HAVING min(source.min_block_number) = whole.min_block_number AND max(source.max_block_number) = whole.max_block_number`
const FIND_DETACHED = `
  SELECT table AS name FROM system.detached_tables WHERE database = currentDatabase() AND NOT is_permanently`
const DETACH = 'DETACH TABLE IF EXISTS {name:Identifier} SYNC'
const ATTACH = 'ATTACH TABLE IF NOT EXISTS {name:Identifier}'

/**
 * Reloads the tables with a damaged part that `damage`, the message of an error, names, while the parts that it was merged
 * from are still on the disk. ClickHouse checks the parts of a table that it loads: it sets the damaged one aside, and
 * serves those that it was merged from. Writes meanwhile fail, and are repeated by their callers.
 * @returns whether a table was reloaded
 */
export const reloadDamagedTables = async (client: ClickHouseClient, damage: string): Promise<boolean> => {
  const tables = await namesOf(client, FIND_REPAIRABLE, { damage })
  for (const name of tables) {
    await client.command({ query: DETACH, query_params: { name } })
    await client.command({ query: ATTACH, query_params: { name } })
  }
  return tables.length > 0
}

/**
 * Attaches the tables that a process has detached and, because it ended, not attached again.
 * @returns whether there were any
 */
export const attachTables = async (client: ClickHouseClient): Promise<boolean> => {
  const tables = await namesOf(client, FIND_DETACHED)
  for (const name of tables) await client.command({ query: ATTACH, query_params: { name } })
  return tables.length > 0
}

const namesOf = async (
  client: ClickHouseClient,
  query: string,
  query_params: Record<string, unknown> = {},
): Promise<string[]> => {
  const found = await client.query({ query, query_params, format: 'JSONEachRow' })
  return (await found.json<{ name: string }>()).map(({ name }) => name)
}
