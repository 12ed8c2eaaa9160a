import type { EnrichedEvent } from '@waymark/contracts/records/enriched-event'
import { openDatabase } from '@waymark/database'
import { EventStoreDataError } from '@waymark/event-store'
import { openDuckDBStore } from '@waymark/event-store/duckdb'
import { anEnrichedEvent, createTestDatabase, seededRandom, services, storeAsBefore } from '@waymark/testing'
import { v7 as uuidv7 } from 'uuid'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { erasureHash } from '../src/erasure/index.ts'
import { claimEvents, keyOfEvent, storeConversions } from '../src/events/event-queries.ts'
import { createEventWriter } from '../src/events/event-writer.ts'
import { createMoveEvents } from '../src/events/move-events.ts'
import { countEventWrites, removeMonth } from '../src/events/moved-event-queries.ts'

const later = (event: EnrichedEvent, ms: number): EnrichedEvent => ({
  ...event,
  receivedAt: new Date(Date.parse(event.receivedAt) + ms).toISOString(),
})
const HOUR_MS = 60 * 60 * 1000

describe.skipIf(!services)('storing events', () => {
  let database: Awaited<ReturnType<typeof createTestDatabase>>
  let db: ReturnType<typeof openDatabase>

  beforeAll(async () => {
    database = await createTestDatabase()
    db = openDatabase({ url: database.url, poolSize: 10, applicationName: 'test', onError: () => {} })
  })
  afterAll(async () => {
    await db.close()
    await database.drop()
  })

  const claim = (...events: EnrichedEvent[]) => db.transaction((client) => claimEvents(client, events))
  const claimed = async (...events: EnrichedEvent[]): Promise<number> => (await claim(...events)).added.length

  it('claims one id once: within a batch, across batches, across months', async () => {
    const now = anEnrichedEvent({ event: { eventId: 'twice' } })
    const earlier = anEnrichedEvent({ event: { eventId: 'twice' }, receivedAt: '2024-02-29T23:59:59.999Z' })
    expect(await claimed(now, now)).toBe(1)
    expect(await claimed(now)).toBe(0)
    expect(await claimed(earlier)).toBe(0)
  })

  it('tells what is delivered again from what a client repeats, also in the same millisecond', async () => {
    const event = anEnrichedEvent({ event: { eventId: 'repeated', properties: { total: 1 } } })
    await claim(event)
    const copy = JSON.parse(JSON.stringify(event)) as EnrichedEvent
    expect(await claim(copy)).toEqual({ added: [], redelivered: [copy], repeated: [] })
    const repeats = [
      later(event, 1),
      later(event, HOUR_MS),
      later(event, 30 * 24 * HOUR_MS),
      { ...event, properties: { total: 2 } },
      { ...event, timestamp: '2024-01-01T00:00:00.000Z' },
    ]
    for (const repeat of repeats) {
      const { added, redelivered, repeated } = await claim(repeat)
      expect([added, redelivered, repeated.map(({ claim: { isOther } }) => isOther)]).toEqual([
        [],
        [],
        [false],
      ])
    }
    const { repeated } = await claim({ ...event, eventName: 'other' })
    expect(repeated[0]?.claim).toEqual({
      receivedAt: new Date(event.receivedAt),
      isOther: true,
      isEarlier: false,
      isOwn: false,
    })
  })

  it('takes an event for its own whose id an earlier version claimed', async () => {
    const event = anEnrichedEvent({ event: { eventId: 'earlier' } })
    await claim(event)
    await db.pool.query(
      'UPDATE ingest.event_ids SET name_hash = NULL, body_hash = NULL WHERE event_key = $1',
      [keyOfEvent(event).eventKey],
    )
    expect((await claim(event)).redelivered).toEqual([event])
    expect((await claim(later(event, 1))).repeated[0]?.claim.isOther).toBeNull()
  })

  it('separates the same id of two projects', async () => {
    const one = anEnrichedEvent({ event: { eventId: 'shared' } })
    const two = anEnrichedEvent({
      event: { eventId: 'shared' },
      projectId: '01900000-0000-7000-8000-000000000002',
    })
    expect(await claimed(one, two)).toBe(2)
  })

  it('claims each id once when many writers have the same events in any order', async () => {
    const events = Array.from({ length: 200 }, (_, n) =>
      anEnrichedEvent({ event: { eventId: `contended-${n}` } }),
    )
    const { shuffled } = seededRandom()
    const counts = await Promise.all(Array.from({ length: 8 }, () => claimed(...shuffled(events))))
    expect(counts.reduce((sum, count) => sum + count, 0)).toBe(200)
  })

  const openAnalytics = async () => {
    const eventStore = await openDuckDBStore({
      path: ':memory:',
      memoryBytes: 256 * 1024 * 1024,
      threads: 1,
      queryTimeoutMs: 10_000,
    })
    onTestFinished(() => eventStore.close())
    return eventStore
  }
  const projectConfigs = {
    get: async () => ({ settings: {}, decisions: { countedEvents: new Set() } }) as never,
  }
  const never = new AbortController().signal

  it('stores the event whose id was claimed, whatever is delivered in between', async () => {
    const eventStore = await openAnalytics()
    const projectId = uuidv7()
    const event = anEnrichedEvent({ projectId, event: { properties: { total: 1 } } })
    const failing = createEventWriter({
      db,
      projectConfigs,
      eventStore: { ...eventStore, storeEvents: () => Promise.reject(new Error('killed')) },
    })
    const write = createEventWriter({ db, projectConfigs, eventStore })
    const totals = async () =>
      (await Array.fromAsync(eventStore.readEvents({ projectId, portion: () => 10 })))
        .flatMap(({ events }) => events)
        .map(({ properties }) => properties.total)
    await expect(failing([event])).rejects.toThrow('killed')
    await write([{ ...event, properties: { total: 2 } }])
    await write([{ ...later(event, 1), properties: { total: 3 } }])
    expect(await totals()).toEqual([])
    await write([event])
    await write([event, { ...event, properties: { total: 4 } }])
    expect(await totals()).toEqual([1])
  })

  it('lets the archive not wait for an event that the event store refuses', async () => {
    const eventStore = await openAnalytics()
    const projectId = uuidv7()
    const archived = {
      ...projectConfigs,
      get: async () =>
        ({ settings: { archiveEvents: true }, decisions: { countedEvents: new Set() } }) as never,
    }
    const [good, refused] = ['good', 'refused'].map((eventId) =>
      anEnrichedEvent({ projectId, event: { eventId } }),
    ) as [EnrichedEvent, EnrichedEvent]
    const write = createEventWriter({
      db,
      projectConfigs: archived,
      eventStore: {
        ...eventStore,
        storeEvents: async (events, options) => {
          if (events.some(({ eventId }) => eventId === 'refused')) throw new EventStoreDataError('refused')
          await eventStore.storeEvents(events, options)
        },
      },
    })
    const queued = async () =>
      (await db.pool.query('SELECT event_key FROM ingest.archive_queue WHERE project_id = $1', [projectId]))
        .rows
    // A consumer halves the batch until the refused event is alone.
    for (const batch of [[good, refused], [good], [refused]])
      await write(batch).catch((error: unknown) => expect(error).toBeInstanceOf(EventStoreDataError))
    expect(await queued()).toEqual([{ event_key: keyOfEvent(good).eventKey }])
  })

  it.each([
    ['since', HOUR_MS],
    ['afterwards, but received before', 10 * 60_000],
  ])('keeps the event of another person when its id is repeated for one who was erased %s', async (_, ms) => {
    const eventStore = await openAnalytics()
    const projectId = uuidv7()
    const write = createEventWriter({ db, projectConfigs, eventStore })
    const event = later(anEnrichedEvent({ projectId, event: { visitorId: 'kept' } }), -HOUR_MS)
    const own = later(anEnrichedEvent({ projectId, event: { visitorId: 'gone' } }), -HOUR_MS)
    await write([event, own])
    await db.pool.query(
      `INSERT INTO ingest.erasures (project_id, kind, hash, erased_at, successor)
         SELECT $1, 'visitor', ${erasureHash('given')}, now() - interval '30 minutes', gen_random_uuid()
         FROM (SELECT $1::uuid AS project_id, 'visitor' AS kind, 'gone' AS value) AS given`,
      [projectId],
    )
    await write([{ ...later(event, ms), visitorId: 'gone' }, own])
    const stored = await Array.fromAsync(eventStore.readEvents({ projectId, portion: () => 10 }))
    expect(stored.flatMap(({ events }) => events).map(({ visitorId }) => visitorId)).toEqual(['kept'])
  })

  it('moves the events of an earlier version, without those of erased people, and removes their months', async () => {
    const eventStore = await openAnalytics()
    const projectId = uuidv7()
    const conversions = [{ selectorId: uuidv7(), amount: 4_900, currency: 'EUR', quantity: 2 }]
    const properties = { total: 49, nested: { list: [1, 'a', null] }, a: 1e21 }
    const events = ['2024-03-31T23:59:59.999Z', '2024-04-01T00:00:00.000Z', new Date().toISOString()].flatMap(
      (receivedAt, month) =>
        [0, 1, 2].map((n) =>
          anEnrichedEvent({
            projectId,
            receivedAt,
            conversions: n === 0 ? conversions : [],
            event: { eventId: `${month}-${n}`, visitorId: `v${n}`, properties },
          }),
        ),
    )
    await storeAsBefore(db, events)
    await db.transaction((client) =>
      storeConversions(client, events, { linkTouchesOf: () => undefined, news: [] }),
    )
    // One is there already, and as it was stored first.
    await eventStore.storeEvents([{ ...(events[4] as EnrichedEvent), properties: { first: true } }])
    await db.pool.query(
      `INSERT INTO ingest.erasures (project_id, kind, hash, erased_at, successor)
       SELECT $1, 'visitor', ${erasureHash('given')}, now() + interval '1 hour', gen_random_uuid()
       FROM (SELECT $1::uuid AS project_id, 'visitor' AS kind, 'v2' AS value) AS given`,
      [projectId],
    )
    const counts: number[] = []
    const removed: (string | number)[][] = []
    const namesOf = async (event: EnrichedEvent) =>
      (await eventStore.findEventNames([keyOfEvent(event)])).map(({ eventName }) => eventName)
    // A process of the previous version stores one more of the last month before what was read of it.
    const late = anEnrichedEvent({ projectId: '00000000-0000-7000-8000-000000000000' })
    const last = keyOfEvent(events.at(-1) as EnrichedEvent).eventKey
    let lastReads = 0
    const move = createMoveEvents({
      db,
      eventStore: {
        ...eventStore,
        findEventNames: async (keys) => {
          if (keys.some(({ eventKey }) => eventKey === last) && ++lastReads === 2)
            await storeAsBefore(db, [late], { makeMonths: false })
          return eventStore.findEventNames(keys)
        },
      },
      projectConfigs,
      batchEvents: 2,
      onCopied: (_month, count) => counts.push(count),
      onRemoved: (month, count) => removed.push([month, count]),
    })
    expect(await move(never)).toBe(9)
    expect(counts.reduce((sum, count) => sum + count, 0)).toBe(5)
    // What a process of the previous version has stored meanwhile is still there.
    expect(removed.map(([, count]) => count)).toEqual([3, 3])
    const stored = (await Array.fromAsync(eventStore.readEvents({ projectId, portion: () => 100 }))).flatMap(
      (portion) => portion.events,
    )
    expect(stored.map(({ eventId }) => eventId).sort()).toEqual(['0-0', '0-1', '1-0', '1-1', '2-0', '2-1'])
    for (const event of stored)
      expect(event.properties).toEqual(event.eventId === '1-1' ? { first: true } : properties)
    expect(await move(never)).toBe(4)
    expect(removed.map(([, count]) => count)).toEqual([3, 3, 4])
    expect(await namesOf(late)).toEqual([late.eventName])
    expect(await move(never)).toBe(0)
    expect((await db.pool.query('SELECT FROM ingest.events')).rowCount).toBe(0)
    // The month in which a process of the previous version may still store events has its partition.
    await storeAsBefore(db, [anEnrichedEvent({ projectId, event: { eventId: 'latest' } })], {
      makeMonths: false,
    })
  })

  it('moves events in one process at a time', async () => {
    await storeAsBefore(db, [anEnrichedEvent({ event: { eventId: 'alone' } })])
    const eventStore = await openAnalytics()
    const other = createMoveEvents({ db, eventStore, projectConfigs })
    const meanwhile: unknown[] = []
    const move = createMoveEvents({
      db,
      eventStore: {
        ...eventStore,
        completeEvents: async (events) => {
          meanwhile.push(await other(never))
          await eventStore.completeEvents(events)
        },
      },
      projectConfigs,
    })
    expect(await move(never)).toBeGreaterThan(0)
    expect(meanwhile).toEqual([undefined])
    expect(await other(never)).toBe(0)
  })

  it('removes a month only when nothing was stored since, and waits for writers', async () => {
    const event = anEnrichedEvent({ event: { eventId: 'more' }, receivedAt: '2024-06-01T00:00:00.000Z' })
    await storeAsBefore(db, [event])
    const before = await countEventWrites(db.pool)
    await storeAsBefore(db, [{ ...event, eventId: 'another' }])
    const remove = (writes: string) => removeMonth(db.pool, '2024-06-01', writes)
    expect(await remove(before)).toBe(false)
    const writes = await countEventWrites(db.pool)
    // A transaction that was begun before the count may still store events of it.
    await db.transaction(async (client) => {
      await client.query('INSERT INTO ingest.events SELECT * FROM ingest.events WHERE false')
      await expect(countEventWrites(db.pool)).rejects.toMatchObject({ code: '55P03' })
    })
    expect(await remove(writes)).toBe(false)
    const latest = await countEventWrites(db.pool)
    expect([await remove(latest), await remove(latest)]).toEqual([true, false])
  })
})
