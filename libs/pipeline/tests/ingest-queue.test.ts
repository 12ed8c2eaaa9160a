import { ingestRecords } from '@waymark/contracts'
import { openDatabase } from '@waymark/database'
import { BusUnavailableError, type EventBus } from '@waymark/event-bus'
import { anIngestRecord, createMemoryLog, createTestDatabase, services } from '@waymark/testing'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createIngestQueue } from '../src/ingest-queue.ts'
import { createOutboxRelay } from '../src/outbox.ts'

describe.skipIf(!services)('the way into the queue', () => {
  let database: Awaited<ReturnType<typeof createTestDatabase>>
  let db: ReturnType<typeof openDatabase>

  beforeAll(async () => {
    database = await createTestDatabase()
    db = openDatabase({ url: database.url, poolSize: 5, applicationName: 'test', onError: () => {} })
  })
  beforeEach(() => db.pool.query('DELETE FROM ingest.outbox'))
  afterAll(async () => {
    await db.close()
    await database.drop()
  })

  /** A queue on a bus that the test takes away and gives back, and a clock of its own. */
  const setUp = (spoolDb = db) => {
    const world = { away: false, now: 1_000_000, published: [] as string[], attempts: 0 }
    const bus: EventBus = {
      publish: async (_topic, records) => {
        world.attempts++
        if (world.away) throw new BusUnavailableError('away')
        world.published.push(...records.map(({ key }) => key))
      },
      subscribe: () => ({ start: async () => {}, stop: async () => {} }),
      close: async () => {},
    }
    const log = createMemoryLog()
    const queue = createIngestQueue({ bus, db: spoolDb, log, now: () => world.now++ })
    const send = (key: string) => queue.enqueue(ingestRecords, [{ key, value: anIngestRecord() }])
    const sendMetering = (key: string) =>
      queue.enqueueOnBus(ingestRecords, [{ key, value: anIngestRecord() }])
    const relay = () => createOutboxRelay({ db, bus, log })(new AbortController().signal)
    return { world, queue, send, sendMetering, relay }
  }

  it('spools while the bus is away, and lets nothing overtake what is in the spool', async () => {
    const { world, queue, send, relay } = setUp()
    await send('before')
    world.away = true
    await send('during-1')
    await send('during-2')
    world.away = false
    await queue.watchSpool()
    await send('after-1')
    expect(world.published).toEqual(['before'])
    await relay()
    await queue.watchSpool()
    world.now += 1_500
    await send('after-2')
    expect(world.published).toEqual(['before', 'during-1', 'during-2', 'after-1', 'after-2'])
  })

  it('waits for the bus once, not with every request', async () => {
    const { world, send } = setUp()
    world.away = true
    for (const key of ['a', 'b', 'c']) await send(key)
    expect(world.attempts).toBe(1)
  })

  it('never spools conversions, and does not even try while the bus has just failed', async () => {
    const { world, sendMetering, relay } = setUp()
    world.away = true
    await expect(sendMetering('order')).rejects.toThrow(BusUnavailableError)
    await expect(sendMetering('order')).rejects.toThrow(BusUnavailableError)
    expect(world.attempts).toBe(1)
    world.away = false
    world.now += 1_500
    await sendMetering('order')
    expect(world.published).toEqual(['order'])
    expect(await relay()).toBe(0)
  })

  it('passes by a spool that others fill, for conversions', async () => {
    const { world, queue, send, sendMetering } = setUp()
    world.away = true
    await send('spooled')
    world.away = false
    world.now += 1_500
    await queue.watchSpool()
    await sendMetering('order')
    expect(world.published).toEqual(['order'])
  })

  it('refuses when neither the bus nor the spool takes a record', async () => {
    const refused = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' })
    const { world, send } = setUp({ ...db, transaction: () => Promise.reject(refused) })
    world.away = true
    await expect(send('lost?')).rejects.toThrow(BusUnavailableError)
  })
})
