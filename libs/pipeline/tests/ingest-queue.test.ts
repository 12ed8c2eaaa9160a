import { setImmediate } from 'node:timers/promises'
import { ingestRecords } from '@waymark/contracts/topics'
import { openDatabase } from '@waymark/database'
import { BusUnavailableError, type EventBus, publishing } from '@waymark/event-bus'
import { anIngestRecord, createMemoryLog, createTestDatabase, eventually, services } from '@waymark/testing'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createIngestQueue } from '../src/outbox/ingest-queue.ts'
import { createOutboxRelay } from '../src/outbox/outbox-relay.ts'

describe.skipIf(!services)('queueing records', () => {
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

  /** A queue on a bus whose availability the test controls, with a separate clock. */
  const setUp = (spoolDb = db) => {
    const world = { away: false, now: 1_000_000, published: [] as string[], attempts: 0, spooled: 0, sent: 0 }
    const bus: EventBus = {
      ...publishing(async (_topic, records) => {
        world.attempts++
        if (world.away) throw new BusUnavailableError('away')
        world.published.push(...records.map(({ key }) => key))
      }),
      subscribe: () => ({ start: async () => {}, stop: async () => {} }),
      readLag: async () => [],
      close: async () => {},
    }
    const log = createMemoryLog()
    const counting = {
      pool: spoolDb.pool,
      transaction: <T>(run: Parameters<typeof db.transaction<T>>[0]): Promise<T> => {
        world.spooled++
        return spoolDb.transaction(run)
      },
    }
    const queue = createIngestQueue({ bus, db: counting, log, now: () => world.now++ })
    const send = async (key: string): Promise<void> => {
      await queue.enqueue(ingestRecords, [{ key, value: anIngestRecord() }])
      world.sent++
    }
    const sendMetering = (key: string) =>
      queue.enqueueOnBus(ingestRecords, [{ key, value: anIngestRecord() }])
    const relay = () => createOutboxRelay({ db, bus, log })(new AbortController().signal)
    return { world, queue, send, sendMetering, relay }
  }

  it('spools while the bus is unavailable, and keeps the order of spooled records', async () => {
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

  it('waits for an unavailable bus once, and not in every request', async () => {
    const { world, send } = setUp()
    world.away = true
    for (const key of ['a', 'b', 'c']) await send(key)
    expect(world.attempts).toBe(1)
  })

  it('never spools conversions, and refuses them at once after a failure of the bus', async () => {
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

  it('publishes conversions while other records are spooled', async () => {
    const { world, queue, send, sendMetering } = setUp()
    world.away = true
    await send('spooled')
    world.away = false
    world.now += 1_500
    await queue.watchSpool()
    await sendMetering('order')
    expect(world.published).toEqual(['order'])
  })

  it('publishes directly and in order again when the relay has caught up under load', async () => {
    const { world, queue, send, relay } = setUp()
    let going = true
    const senders = Array.from({ length: 8 }, async (_, sender) => {
      for (let n = 0; going; n++) {
        await send(`${sender}-${n}`)
        await setImmediate()
      }
    })
    const relaying = (async () => {
      while (going) {
        await relay().catch(() => {})
        await setImmediate()
      }
    })()
    world.away = true
    await eventually('it spools', () => world.spooled > 8)
    world.away = false
    world.now += 1_500
    // The spool is never empty while everything goes through it.
    const isPast = async () => {
      await queue.watchSpool()
      const [spooled, sent] = [world.spooled, world.sent]
      await eventually('more is sent', () => world.sent > sent + 50)
      return world.spooled === spooled
    }
    try {
      await eventually('it publishes by itself', isPast)
    } finally {
      going = false
      await Promise.all([...senders, relaying])
    }
    await relay()
    for (let sender = 0; sender < senders.length; sender++) {
      const numbers = world.published.flatMap((key) =>
        key.startsWith(`${sender}-`) ? [Number(key.slice(2))] : [],
      )
      expect(numbers).toEqual(numbers.map((_, place) => place))
    }
  })

  it('publishes records when only the spool is unavailable', async () => {
    const refused = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' })
    const spoolDb = { ...db }
    const { world, send } = setUp(spoolDb)
    world.away = true
    await send('spooled')
    world.away = false
    world.now += 1_500
    spoolDb.transaction = () => Promise.reject(refused)
    await send('published')
    expect(world.published).toEqual(['published'])
  })

  it('waits for a hung spool once, not in every request', async () => {
    const spoolDb = { ...db }
    const { world, send } = setUp(spoolDb)
    world.away = true
    await send('spooled')
    world.away = false
    world.now += 1_500
    spoolDb.transaction = () => new Promise(() => {})
    const before = world.spooled
    for (let n = 0; n < 5; n++) await send(`published-${n}`)
    expect(world.spooled - before).toBe(1)
    expect(world.published).toHaveLength(5)
  })

  it('rejects when neither the bus nor the spool accepts a record', async () => {
    const refused = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' })
    const { world, send } = setUp({ ...db, transaction: () => Promise.reject(refused) })
    world.away = true
    await expect(send('lost?')).rejects.toThrow(BusUnavailableError)
  })
})
