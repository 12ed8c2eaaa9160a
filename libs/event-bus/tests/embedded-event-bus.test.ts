import { createPool } from '@waymark/database'
import { createMemoryLog, createTestDatabase, services } from '@waymark/testing'
import { describe, expect, it } from 'vitest'
import { openEmbeddedEventBus } from '../src/embedded/embedded-event-bus.ts'
import { partitionOf } from '../src/partitioner.ts'
import { BusUnavailableError } from '../src/port.ts'
import { describeEventBus, numbered } from './event-bus-contract.ts'

const PARTITIONS = 4

const openPool = (url: string) => createPool({ url, max: 10, applicationName: 'test', onError: () => {} })

const createHarness = async () => {
  const database = await createTestDatabase()
  const pool = openPool(database.url)
  return {
    open: () =>
      openEmbeddedEventBus({ databaseUrl: database.url, pool, partitions: PARTITIONS }, createMemoryLog()),
    publishRaw: async (topic: string, key: string, value: string) => {
      const { rows } = await pool.query<{ end: string }>(
        `INSERT INTO bus.log (topic, "partition", "offset", key, value, at)
         SELECT $1, $2, coalesce(max("offset") + 1, 0), $3, $4, now() FROM bus.log WHERE topic = $1 AND "partition" = $2
         RETURNING "offset"::text AS end`,
        [topic, partitionOf(key, PARTITIONS), key, value],
      )
      expect(rows).toHaveLength(1)
    },
    dispose: async () => {
      await pool.end()
      await database.drop()
    },
  }
}

describe.skipIf(!services)('the event bus as a log in PostgreSQL', () => {
  describeEventBus(createHarness)

  it('is closed to a second process', async () => {
    const database = await createTestDatabase()
    const pool = openPool(database.url)
    const first = await openEmbeddedEventBus({ databaseUrl: database.url, pool }, createMemoryLog())
    await expect(
      openEmbeddedEventBus({ databaseUrl: database.url, pool }, createMemoryLog()),
    ).rejects.toThrow(BusUnavailableError)
    await first.close()
    const second = await openEmbeddedEventBus({ databaseUrl: database.url, pool }, createMemoryLog())
    await second.close()
    await pool.end()
    await database.drop()
  })

  it('goes on after its connection was cut, and rejects what may be lost', async () => {
    const database = await createTestDatabase()
    const pool = openPool(database.url)
    const bus = await openEmbeddedEventBus({ databaseUrl: database.url, pool }, createMemoryLog())
    const publish = (n: number) => bus.publish(numbered, [{ key: 'ann', value: { n, person: 'ann' } }])
    await publish(1)
    await pool.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'waymark-log' AND datname = current_database()`,
    )
    await publish(2).catch(() => {})
    await publish(3)
    const { rows } = await pool.query<{ offset: string }>(
      'SELECT "offset"::text AS offset FROM bus.log ORDER BY "offset"',
    )
    expect(rows.map(({ offset }) => Number(offset))).toEqual(rows.map((_, index) => index))
    await bus.close()
    await pool.end()
    await database.drop()
  })
})
