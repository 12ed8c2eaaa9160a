import { randomUUID } from 'node:crypto'
import { createTestDatabase, services, type TestDatabase } from '@waymark/testing'
import type { Pool } from 'pg'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { ensureEventPartitions } from '../src/event-partitions.ts'
import { migrate } from '../src/migrate.ts'
import { createPool } from '../src/pool.ts'
import { isDataError, isTransient } from '../src/sql-errors.ts'

const INSERT = `
  INSERT INTO ingest.events (project_id, event_key, event_id, event_name, received_at, "timestamp")
  VALUES ($1, $1, 'id', 'test', $2, $2)`

describe.skipIf(!services)('monthly partitions of events', () => {
  let database: TestDatabase
  let pool: Pool

  beforeEach(async () => {
    database = await createTestDatabase({ empty: true })
    await migrate(database.url)
    pool = createPool({ url: database.url, max: 10, applicationName: 'test', onError: () => {} })
  })

  afterEach(async () => {
    await pool.end()
    await database.drop()
  })

  const insert = (receivedAt: string) => pool.query(INSERT, [randomUUID(), receivedAt])

  it('are created once, and contain the events of their month in UTC', async () => {
    const now = new Date('2026-12-31T23:59:59Z')
    expect(await ensureEventPartitions(pool, { now })).toEqual([
      'events_2026_11',
      'events_2026_12',
      'events_2027_01',
      'events_2027_02',
    ])
    expect(await ensureEventPartitions(pool, { now })).toEqual([])
    expect(await ensureEventPartitions(pool, { now, monthsAhead: 3 })).toEqual(['events_2027_03'])

    await insert('2026-11-01T00:00:00.000Z')
    await insert('2026-12-31T23:59:59.999Z')
    await insert('2027-01-01T00:00:00.000Z')
    const { rows } = await pool.query(
      'SELECT tableoid::regclass::text AS name FROM ingest.events ORDER BY received_at',
    )
    expect(rows.map(({ name }) => name)).toEqual([
      'partitions.events_2026_11',
      'partitions.events_2026_12',
      'partitions.events_2027_01',
    ])
  })

  it('have the indexes of the whole table and no others', async () => {
    await ensureEventPartitions(pool, { now: new Date('2026-01-15T00:00:00Z') })
    const { rows } = await pool.query(`
      SELECT c.relname AS name, count(*)::int AS indexes, count(i.inhparent)::int AS attached
      FROM pg_index x JOIN pg_class c ON c.oid = x.indrelid LEFT JOIN pg_inherits i ON i.inhrelid = x.indexrelid
      WHERE c.relname IN ('events_2026_01', 'events_2026_02') GROUP BY 1 ORDER BY 1`)
    expect(rows).toEqual([
      { name: 'events_2026_01', indexes: 5, attached: 5 },
      { name: 'events_2026_02', indexes: 5, attached: 5 },
    ])
  })

  it('give a transient error when missing', async () => {
    const missed = insert('2020-01-01T00:00:00Z')
    await expect(missed).rejects.toSatisfy(isTransient)
    await expect(missed).rejects.not.toSatisfy(isDataError)
  })

  it('are created concurrently with writers and an open transaction', async () => {
    await ensureEventPartitions(pool, { now: new Date('2026-01-15T00:00:00Z'), monthsAhead: 0 })
    const open = await pool.connect()
    await open.query('BEGIN')
    await open.query(INSERT, [randomUUID(), '2026-01-10T00:00:00Z'])

    let writing = true
    let written = 0
    const writers = Array.from({ length: 3 }, async () => {
      while (writing) {
        await insert('2026-01-20T00:00:00Z')
        written += 1
      }
    })
    const made = await Promise.all(
      Array.from({ length: 6 }, () =>
        ensureEventPartitions(pool, { now: new Date('2026-03-15T00:00:00Z'), monthsAhead: 12 }),
      ),
    )
    writing = false
    await Promise.all(writers)
    await open.query('COMMIT')
    open.release()

    expect(made.flat()).toHaveLength(14)
    expect(new Set(made.flat()).size).toBe(14)
    const { rows } = await pool.query('SELECT count(*)::int AS n FROM ingest.events')
    expect(rows).toEqual([{ n: written + 1 }])
  })

  it('serve a page of the newest events from an index, without sorting', async () => {
    await ensureEventPartitions(pool, { now: new Date('2026-02-15T00:00:00Z') })
    await pool.query(`
      INSERT INTO ingest.events (project_id, event_key, event_id, event_name, visitor_id, received_at, "timestamp")
      SELECT '00000000-0000-0000-0000-000000000001', gen_random_uuid(), n, 'name' || n % 3, 'v' || n % 5, at, at
      FROM (SELECT n, timestamptz '2026-01-02Z' + n * interval '10 minutes' AS at FROM generate_series(1, 6000) n) t`)
    await pool.query('ANALYZE ingest.events')
    for (const filter of ['TRUE', "event_name = 'name1'", "visitor_id = 'v4'"]) {
      const { rows } = await pool.query<{ 'QUERY PLAN': string }>(`
        EXPLAIN SELECT * FROM ingest.events
        WHERE project_id = '00000000-0000-0000-0000-000000000001' AND ${filter}
          AND received_at <= timestamptz '2026-02-05Z'
          AND (received_at, event_key) < (timestamptz '2026-02-05Z', '00000000-0000-0000-0000-000000000000')
        ORDER BY received_at DESC, event_key DESC LIMIT 50`)
      const plan = rows.map((row) => row['QUERY PLAN']).join('\n')
      expect(plan).toContain('Index Scan Backward')
      expect(plan).not.toContain('Sort')
    }
  })
})
