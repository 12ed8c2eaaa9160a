import { couponsRedeemed, enrichedEvents, rejectedEvents, type Topic } from '@waymark/contracts/topics'
import { createPool } from '@waymark/database'
import { partitionOf } from '@waymark/kafka-client'
import { createMemoryLog, createTestDatabase, eventually, services } from '@waymark/testing'
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { createAppender } from '../src/embedded/appender.ts'
import { openEmbeddedEventBus } from '../src/embedded/embedded-event-bus.ts'
import { BusUnavailableError } from '../src/port.ts'
import { busDeps } from './bus-deps.ts'
import { describeEventBus, numbered } from './event-bus-contract.ts'

const PARTITIONS = 4

const openPool = (url: string) => createPool({ url, max: 10, applicationName: 'test', onError: () => {} })

const createHarness = async () => {
  const database = await createTestDatabase()
  const pool = openPool(database.url)
  return {
    open: () => openEmbeddedEventBus({ databaseUrl: database.url, pool, partitions: PARTITIONS }, busDeps()),
    publishRaw: async (topic: string, key: string, value: string) => {
      const { rows } = await pool.query<{ end: string }>(
        `INSERT INTO bus.log (topic, "partition", "offset", key, value, at)
         SELECT $1, $2, coalesce(max("offset") + 1, 0), $3, $4, now() FROM bus.log WHERE topic = $1 AND "partition" = $2
         RETURNING "offset"::text AS end`,
        [topic, partitionOf(Buffer.from(key), PARTITIONS), key, value],
      )
      expect(rows).toHaveLength(1)
    },
    dispose: async () => {
      await pool.end()
      await database.drop()
    },
  }
}

const HOUR_MS = 60 * 60 * 1000
const DAY_MS = 24 * HOUR_MS

/** A separate database, with helpers that fill its log. */
const createLogDatabase = async () => {
  const { url, drop } = await createTestDatabase()
  const pool = openPool(url)
  onTestFinished(async () => {
    await pool.end()
    await drop()
  })
  return {
    url,
    pool,
    /** Inserts records of one partition into the log, from offset 0, one for each age in ms. */
    fill: (topic: string, partition: number, ages: readonly number[]) =>
      pool.query(
        `INSERT INTO bus.log (topic, "partition", "offset", key, value, at)
         SELECT $1, $2, n - 1, 'ann', '{}', now() - age * interval '1 millisecond'
         FROM unnest($3::bigint[]) WITH ORDINALITY AS record (age, n)`,
        [topic, partition, ages],
      ),
    commit: (group: string, topic: string, partition: number, next: number) =>
      pool.query('INSERT INTO bus.log_offsets VALUES ($1, $2, $3, $4)', [group, topic, partition, next]),
    /** The records in the log, as topic/partition/offset. */
    kept: async (): Promise<string[]> => {
      const { rows } = await pool.query<{ slot: string }>(
        `SELECT concat_ws('/', topic, "partition", "offset") AS slot FROM bus.log ORDER BY topic, "partition", "offset"`,
      )
      return rows.map(({ slot }) => slot)
    },
  }
}

describe.skipIf(!services)('sweeping the log in PostgreSQL', () => {
  afterEach(() => void vi.useRealTimers())

  /** Opens a bus, subscribes, sweeps until `count` records are left, and returns them. */
  const sweepTo = async (
    count: number,
    { url, pool, kept }: Awaited<ReturnType<typeof createLogDatabase>>,
    subscribed: Topic<unknown>[] = [],
  ) => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
    const bus = await openEmbeddedEventBus({ databaseUrl: url, pool }, busDeps())
    onTestFinished(() => bus.close())
    for (const topic of subscribed) bus.subscribe({ group: 'idle', topic, handle: async () => undefined })
    vi.advanceTimersByTime(60_000)
    await eventually(`${count} records are left`, async () => (await kept()).length <= count)
    await bus.close()
    return kept()
  }

  it('deletes records of a topic without groups after its retention', async () => {
    const database = await createLogDatabase()
    const ages = [8 * DAY_MS, 7 * DAY_MS + HOUR_MS, 7 * DAY_MS - HOUR_MS, 0]
    await database.fill(couponsRedeemed.name, 0, ages)
    await database.fill(couponsRedeemed.name, 9, ages)
    await database.fill('of-another-version.v1', 1, ages)
    expect(await sweepTo(6, database)).toEqual([
      'coupons.redeemed.v1/0/2',
      'coupons.redeemed.v1/0/3',
      'coupons.redeemed.v1/9/2',
      'coupons.redeemed.v1/9/3',
      'of-another-version.v1/1/2',
      'of-another-version.v1/1/3',
    ])
  })

  it.each([
    ['with members here', [enrichedEvents]],
    ['without members here', []],
  ])(
    'deletes after a day what every group has read, and no record that one has not, %s',
    async (_, subscribed) => {
      const database = await createLogDatabase()
      const { name } = enrichedEvents
      await database.fill(name, 0, [3 * DAY_MS, 2 * DAY_MS, 2 * DAY_MS])
      await database.commit('fast', name, 0, 3)
      await database.commit('slow', name, 0, 2)
      await database.fill(name, 1, [25 * HOUR_MS, 23 * HOUR_MS])
      await database.commit('fast', name, 1, 2)
      await database.fill(name, 2, [30 * DAY_MS])
      expect(await sweepTo(3, database, subscribed)).toEqual([
        'events.enriched.v1/0/2',
        'events.enriched.v1/1/1',
        'events.enriched.v1/2/0',
      ])
    },
  )

  it('keeps records of a topic that a new group has subscribed to', async () => {
    const database = await createLogDatabase()
    await database.fill(enrichedEvents.name, 0, [30 * DAY_MS])
    await database.fill(rejectedEvents.name, 0, [30 * DAY_MS])
    await database.commit('group', rejectedEvents.name, 0, 1)
    const kept = await sweepTo(1, database, [enrichedEvents, rejectedEvents])
    expect(kept).toEqual(['events.enriched.v1/0/0'])
  })

  it('deletes everything that is due in one run', async () => {
    const database = await createLogDatabase()
    await database.fill(rejectedEvents.name, 0, [...Array(2_500).fill(8 * DAY_MS), HOUR_MS])
    expect(await sweepTo(1, database)).toEqual(['ingest.rejected.v1/0/2500'])
  })

  it('lets a later group start after the deleted records', async () => {
    const { url, pool, commit } = await createLogDatabase()
    const partition = partitionOf(Buffer.from('ann'), PARTITIONS)
    await commit('earlier', numbered.name, partition, 100)
    const query = vi.spyOn(pool, 'query')
    const readFrom = () =>
      query.mock.calls
        .map(([config]) => config as unknown as { name?: string; values?: unknown[] })
        .filter(({ name, values }) => name === 'read-log' && values?.[1] === partition)
        .map(({ values }) => values?.[2])
    const bus = await openEmbeddedEventBus({ databaseUrl: url, pool }, busDeps())
    onTestFinished(() => bus.close())
    const offsets: bigint[] = []
    const consumer = bus.subscribe({
      group: 'later',
      topic: numbered,
      handle: async (batch) => void offsets.push(...batch.map(({ offset }) => offset)),
    })
    await consumer.start()
    onTestFinished(() => consumer.stop())
    await eventually('the group has looked', () => readFrom().length > 0)
    await bus.publish(numbered, [{ key: 'ann', value: { n: 1, person: 'ann' } }])
    await eventually('the record arrives', () => offsets.length > 0)
    expect(offsets).toEqual([100n])
    expect(readFrom().slice(0, 2)).toEqual(['0', '100'])
  })
})

describe.skipIf(!services)('the lag of a group in PostgreSQL', () => {
  it('counts from the oldest record that is kept', async () => {
    const { url, pool, fill, commit } = await createLogDatabase()
    await fill(numbered.name, 0, Array(10).fill(0))
    await fill(enrichedEvents.name, 0, Array(7).fill(0))
    const remove = (before: number) =>
      pool.query('DELETE FROM bus.log WHERE topic = $1 AND "offset" < $2', [numbered.name, before])
    const bus = await openEmbeddedEventBus({ databaseUrl: url, pool }, busDeps())
    onTestFinished(() => bus.close())
    const lag = async () => {
      const [group] = await bus.readLag([{ group: 'test', topic: numbered }])
      return group?.records
    }
    expect(await lag()).toBe(10)
    await remove(4)
    expect(await lag()).toBe(6)
    await commit('test', numbered.name, 0, 9)
    await commit('other', numbered.name, 0, 10)
    expect(await lag()).toBe(1)
    await remove(10)
    expect(await lag()).toBe(0)
  })

  it('is unknown when the database does not answer', async () => {
    const { url, pool } = await createLogDatabase()
    const bus = await openEmbeddedEventBus({ databaseUrl: url, pool }, busDeps())
    onTestFinished(() => bus.close())
    vi.spyOn(pool, 'query').mockRejectedValue(new Error('connection refused') as never)
    await expect(bus.readLag([{ group: 'test', topic: numbered }])).rejects.toThrow(BusUnavailableError)
  })
})

describe.skipIf(!services)('opening the log in PostgreSQL', () => {
  it.each([
    ['no records and no groups', 0, 0],
    ['groups whose records are all deleted', 0, 40],
    ['one record', 1, 0],
    ['records alone', 500, 0],
    ['records and groups', 500, 40],
  ])('reads the end of every partition from %s', async (_, records, offsets) => {
    const { url, pool } = await createLogDatabase()
    const anySlot = `(ARRAY['a', 'a.v1', 'a/1', 'A', 'ab', '\u00fc', ''])[1 + floor(random() * 7)::int], floor(random() * 6)::int`
    await pool.query(
      `SELECT setseed(0.5);
       INSERT INTO bus.log SELECT ${anySlot}, floor(random() * 1e12)::bigint, 'ann', '{}', NULL, now()
       FROM generate_series(1, ${records});
       INSERT INTO bus.log_offsets SELECT 'group-' || n, ${anySlot}, floor(random() * 1e12)::bigint
       FROM generate_series(1, ${offsets}) AS n`,
    )
    const { rows } = await pool.query<{ topic: string; partition: number; end: string }>(
      `SELECT topic, "partition", max("end")::text AS "end" FROM (
         SELECT topic, "partition", "offset" + 1 AS "end" FROM bus.log
         UNION ALL SELECT topic, "partition", next FROM bus.log_offsets
       ) AS known GROUP BY topic, "partition"`,
    )
    const appender = createAppender(url, createMemoryLog())
    await appender.open()
    onTestFinished(() => appender.close())
    expect(new Set(appender.ends())).toEqual(new Set(rows.map((row) => ({ ...row, end: BigInt(row.end) }))))
  })
})

describe.skipIf(!services)('the event bus as a log in PostgreSQL', () => {
  describeEventBus(createHarness)

  it('is closed to a second process', async () => {
    const database = await createTestDatabase()
    const pool = openPool(database.url)
    const first = await openEmbeddedEventBus({ databaseUrl: database.url, pool }, busDeps())
    await expect(openEmbeddedEventBus({ databaseUrl: database.url, pool }, busDeps())).rejects.toThrow(
      BusUnavailableError,
    )
    await first.close()
    const second = await openEmbeddedEventBus({ databaseUrl: database.url, pool }, busDeps())
    await second.close()
    await pool.end()
    await database.drop()
  })

  it('continues after its connection broke, and rejects records that may be lost', async () => {
    const database = await createTestDatabase()
    const pool = openPool(database.url)
    const bus = await openEmbeddedEventBus({ databaseUrl: database.url, pool }, busDeps())
    const publish = (n: number) => bus.publish(numbered, [{ key: 'ann', value: { n, person: 'ann' } }])
    await publish(1)
    const { rows: ended } = await pool.query<{ pid: number }>(
      `SELECT pid, pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'waymark-log' AND datname = current_database()`,
    )
    await publish(2).catch(() => {})
    // The connection holds the lock of the writer until its process has ended.
    await eventually('the connection is gone', async () => {
      const connections = 'SELECT 1 FROM pg_stat_activity WHERE pid = $1'
      return (await pool.query(connections, [ended[0]?.pid])).rowCount === 0
    })
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
