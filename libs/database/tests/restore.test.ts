import {
  type ArchivingPostgres,
  eventually,
  requireServices,
  services,
  startArchivingPostgres,
} from '@waymark/testing'
import { Client } from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { migrate } from '../src/migrate.ts'

const INSERT = `INSERT INTO ingest.dead_letters (topic, partition, "offset", consumer_group, value, reason, failed_at)
  SELECT 'events.enriched.v1', 0, n, 'persistence', 'x', 'a reason', now() FROM generate_series($1::int, $2) AS n`

describe.skipIf(!services)('a restore of PostgreSQL from a base backup and archived WAL', () => {
  let server: ArchivingPostgres
  let primary: Client

  const textOf = async (client: Client, sql: string): Promise<string> => {
    const { rows } = await client.query<{ text: string }>(sql)
    return rows[0]?.text ?? ''
  }

  beforeAll(async () => {
    requireServices()
    server = await startArchivingPostgres()
    await migrate(server.url)
    primary = new Client({ connectionString: server.url })
    await primary.connect()
  })
  afterAll(async () => {
    await primary.end()
    await server.container.stop({ timeout: 0 })
  })

  it('has everything that was committed before the chosen time, and nothing after it', async () => {
    await primary.query(INSERT, [1, 1_000])
    await server.backUp()
    await primary.query(INSERT, [1_001, 2_000])
    const before = await textOf(primary, 'SELECT clock_timestamp()::text AS text')
    // The accident is after that time by any clock resolution.
    const passed = `SELECT (clock_timestamp() > '${before}'::timestamptz)::text AS text`
    await eventually('it has passed', async () => (await textOf(primary, passed)) === 'true')
    await primary.query('DELETE FROM ingest.dead_letters')

    await server.waitForArchive()
    const url = await server.restore(before)

    const restored = new Client({ connectionString: url })
    await restored.connect()
    const rows = `SELECT count(*) || ' up to ' || coalesce(max("offset"), 0) AS text FROM ingest.dead_letters`
    expect(await textOf(restored, rows)).toBe('2000 up to 2000')
    expect(await textOf(primary, rows)).toBe('0 up to 0')
    const migrated = 'SELECT count(*)::text AS text FROM _prisma_migrations WHERE finished_at IS NOT NULL'
    expect(await textOf(restored, migrated)).toBe(await textOf(primary, migrated))
    expect(await textOf(restored, 'SELECT count(*)::text AS text FROM pg_index WHERE NOT indisvalid')).toBe(
      '0',
    )
    await restored.query(`UPDATE ingest.dead_letters SET reason = 'restored' WHERE "offset" = 1`)
    await restored.end()
    await server.stopRestored()
  })
})
