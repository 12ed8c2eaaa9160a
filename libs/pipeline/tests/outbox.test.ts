import { deadLetters, enrichedEvents } from '@waymark/contracts/topics'
import { openDatabase } from '@waymark/database'
import { BusUnavailableError, type EventBus, publishing } from '@waymark/event-bus'
import { anEnrichedEvent, createMemoryLog, createTestDatabase, services } from '@waymark/testing'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { addToOutbox, outboxStatement, readOutboxDepth } from '../src/outbox/outbox-queries.ts'
import { createOutboxRelay } from '../src/outbox/outbox-relay.ts'

describe.skipIf(!services)('the outbox', () => {
  let database: Awaited<ReturnType<typeof createTestDatabase>>
  let db: ReturnType<typeof openDatabase>
  const signal = new AbortController().signal
  /** More than two batches. */
  const manyKeys = Array.from({ length: 1_200 }, (_, n) => `${n}`)

  beforeAll(async () => {
    database = await createTestDatabase()
    db = openDatabase({ url: database.url, poolSize: 10, applicationName: 'test', onError: () => {} })
  })
  beforeEach(() => db.pool.query('DELETE FROM ingest.outbox'))
  afterAll(async () => {
    await db.close()
    await database.drop()
  })

  const recordingBus = () => {
    const published: string[] = []
    const bus: EventBus = {
      ...publishing(async (_topic, records) => void published.push(...records.map(({ key }) => key))),
      subscribe: () => ({ start: async () => {}, stop: async () => {} }),
      readLag: async () => [],
      close: async () => {},
    }
    return { bus, published }
  }
  const add = (lane: string, ...keys: string[]) =>
    db.transaction((client) =>
      addToOutbox(
        client,
        lane,
        enrichedEvents,
        keys.map((key) => ({ key, value: anEnrichedEvent() })),
      ),
    )
  const waiting = async (): Promise<number> => {
    const { rows } = await db.pool.query<{ n: number }>('SELECT count(*)::int AS n FROM ingest.outbox')
    return rows[0]?.n ?? -1
  }

  it('publishes a lane in order and deletes it', async () => {
    await add('lane', 'a', 'b')
    await add('lane', 'c')
    const { bus, published } = recordingBus()
    expect(await createOutboxRelay({ db, bus, log: createMemoryLog() })(signal)).toBe(3)
    expect(published).toEqual(['a', 'b', 'c'])
    expect(await waiting()).toBe(0)
  })

  it('publishes records of several topics, each topic in order', async () => {
    for (const n of [1, 2, 3])
      await db.transaction((client) =>
        client.query(
          outboxStatement('lane', [
            { topic: enrichedEvents, records: [{ key: `enriched ${n}`, value: anEnrichedEvent() }] },
            { topic: deadLetters, records: [{ key: `dead ${n}`, value: {} }] },
          ]),
        ),
      )
    const published: { topic: string; keys: string[] }[] = []
    const bus: EventBus = {
      ...recordingBus().bus,
      ...publishing(
        async (topic, records) =>
          void published.push({ topic: topic.name, keys: records.map(({ key }) => key) }),
      ),
    }
    expect(await createOutboxRelay({ db, bus, log: createMemoryLog() })(signal)).toBe(6)
    expect(published).toEqual([
      { topic: enrichedEvents.name, keys: ['enriched 1', 'enriched 2', 'enriched 3'] },
      { topic: deadLetters.name, keys: ['dead 1', 'dead 2', 'dead 3'] },
    ])
  })

  it('reports its number of records and the age of the oldest', async () => {
    expect(await readOutboxDepth(db)).toEqual({ records: 0, oldestSeconds: 0 })
    await add('lane', 'a', 'b')
    // The column is rounded to whole milliseconds.
    await db.pool.query("UPDATE ingest.outbox SET created_at = now() - interval '90.001 s' WHERE key = 'a'")
    const { records, oldestSeconds } = await readOutboxDepth(db)
    expect(records).toBe(2)
    expect(oldestSeconds).toBeGreaterThanOrEqual(90)
    expect(oldestSeconds).toBeLessThan(120)
  })

  it('publishes nothing from a transaction that was rolled back', async () => {
    await db
      .transaction(async (client) => {
        await addToOutbox(client, 'lane', enrichedEvents, [{ key: 'a', value: anEnrichedEvent() }])
        throw new Error('changed my mind')
      })
      .catch(() => {})
    expect(await waiting()).toBe(0)
  })

  it('keeps everything while the bus is unavailable', async () => {
    await add('lane', 'a')
    const away = {
      ...recordingBus().bus,
      ...publishing(() => Promise.reject(new BusUnavailableError('away'))),
    }
    await expect(createOutboxRelay({ db, bus: away, log: createMemoryLog() })(signal)).rejects.toThrow(
      BusUnavailableError,
    )
    expect(await waiting()).toBe(1)
  })

  it('publishes all other lanes when one fails', async () => {
    await db.transaction((client) =>
      client.query(
        outboxStatement('broken', [{ topic: deadLetters, records: [{ key: 'stays', value: {} }] }]),
      ),
    )
    for (const lane of ['a', 'b', 'y', 'z']) await add(lane, lane)
    await add('long', ...manyKeys)
    const { bus, published } = recordingBus()
    const oneTopicMissing: EventBus = {
      ...bus,
      publishSerialized: async (topic, records) => {
        if (topic.name === deadLetters.name) throw new BusUnavailableError('no such topic')
        await bus.publishSerialized(topic, records)
      },
    }
    const log = createMemoryLog()
    await expect(createOutboxRelay({ db, bus: oneTopicMissing, log })(signal)).rejects.toThrow(
      'no such topic',
    )
    expect(published.filter((key) => key < 'a')).toEqual(manyKeys)
    expect(published.filter((key) => key >= 'a').toSorted()).toEqual(['a', 'b', 'y', 'z'])
    expect(await waiting()).toBe(1)
    expect(log.lines).toContainEqual(
      expect.objectContaining({ level: 'warn', details: expect.objectContaining({ lane: 'broken' }) }),
    )
  })

  it('publishes a batch of each lane in turn', async () => {
    await add('long', ...manyKeys)
    for (const lane of ['a', 'b', 'y', 'z']) await add(lane, lane)
    const { bus, published } = recordingBus()
    expect(await createOutboxRelay({ db, bus, log: createMemoryLog() })(signal)).toBe(1_204)
    expect(published.slice(0, 504).filter((key) => key >= 'a')).toEqual(['a', 'b', 'y', 'z'])
    expect(published.filter((key) => key < 'a')).toEqual(manyKeys)
  })

  it('finds new lanes before a long one is published', async () => {
    await add('long', ...manyKeys)
    const { bus, published } = recordingBus()
    const relay = createOutboxRelay({ db, bus, log: createMemoryLog(), turnsPerRun: 1 })
    expect(await relay(signal)).toBe(500)
    await add('new', 'new')
    expect(await relay(signal)).toBe(501)
    expect(published).toEqual([...manyKeys.slice(0, 1_000), 'new'])
  })

  it('publishes each record once and in order when several relays run', async () => {
    await add('lane', ...manyKeys)
    const { bus, published } = recordingBus()
    const relays = Array.from({ length: 4 }, () => createOutboxRelay({ db, bus, log: createMemoryLog() }))
    while ((await waiting()) > 0) await Promise.all(relays.map((relay) => relay(signal)))
    expect(published).toEqual(manyKeys)
  })
})
