import type { EventKey } from '@waymark/analytics'
import type { EnrichedEvent } from '@waymark/contracts/records/enriched-event'
import { openDatabase } from '@waymark/database'
import { eventKeyOf } from '@waymark/domain/ingestion'
import { anEnrichedEvent, createTestDatabase, seededRandom, services } from '@waymark/testing'
import { v7 as uuidv7 } from 'uuid'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { erasureHash } from '../src/erasure/index.ts'
import { createCompleteEvents } from '../src/events/complete-events.ts'
import {
  createEventPartitions,
  findOtherEvents,
  findStoredEvents,
  keyOfEvent,
  storeConversions,
  storeEvents,
} from '../src/events/event-queries.ts'

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

  const store = async (...events: ReturnType<typeof anEnrichedEvent>[]): Promise<number> =>
    (await db.transaction((client) => storeEvents(client, events))).length
  const countOf = async (eventId: string): Promise<number> => {
    const { rows } = await db.pool.query<{ n: number }>(
      'SELECT count(*)::int AS n FROM ingest.events WHERE event_id = $1',
      [eventId],
    )
    return rows[0]?.n ?? 0
  }

  it('stores one id once: within a batch, across batches, across months', async () => {
    const partitions = createEventPartitions(db)
    const now = anEnrichedEvent({ event: { eventId: 'twice' } })
    const earlier = anEnrichedEvent({ event: { eventId: 'twice' }, receivedAt: '2024-02-29T23:59:59.999Z' })
    await partitions.ensureFor([now, earlier])
    expect(await store(now, now)).toBe(1)
    expect(await store(now)).toBe(0)
    expect(await store(earlier)).toBe(0)
    expect(await countOf('twice')).toBe(1)
  })

  it('finds events as they were stored first, however they are repeated', async () => {
    const conversions = [
      { selectorId: uuidv7(), amount: 4_900, currency: 'EUR', quantity: 2 },
      { selectorId: uuidv7(), amount: null, currency: null, quantity: null },
    ]
    const properties = { total: 49, nested: { list: [1, 'a', null] }, a: 1e21 }
    const first = anEnrichedEvent({ event: { eventId: 'repeated', properties }, conversions })
    const plain = anEnrichedEvent({ event: { eventId: 'plain' } })
    const never = anEnrichedEvent({ event: { eventId: 'never stored' } })
    const later = { ...first, receivedAt: new Date(Date.parse(first.receivedAt) + 1).toISOString() }
    const other = { ...later, timestamp: '2024-01-01T00:00:00.000Z', properties: {}, conversions: [] }
    await store(first, plain)
    await db.transaction((client) =>
      storeConversions(client, [first], { linkTouchesOf: () => undefined, news: [] }),
    )
    const found = await db.transaction((client) =>
      findStoredEvents(client, [other, never, plain].map(keyOfEvent)),
    )
    expect(found).toHaveLength(2)
    expect(found).toContainEqual(plain)
    const { conversions: claims, ...rest } = found.find(({ eventId }) => eventId === 'repeated') ?? {}
    expect({ ...rest, conversions }).toEqual(first)
    expect(new Set(claims)).toEqual(new Set(conversions))
  })

  it('finds ids of events with another name, also of removed ones and ids that an earlier version claimed', async () => {
    const named = (eventId: string, eventName: string) => anEnrichedEvent({ event: { eventId, eventName } })
    const ids = ['named', 'removed', 'earlier']
    await store(...ids.map((id) => named(id, 'order')))
    await db.pool.query(`DELETE FROM ingest.events WHERE event_id = 'removed'`)
    await db.pool.query('UPDATE ingest.event_ids SET name_hash = NULL WHERE event_key = $1', [
      eventKeyOf('earlier'),
    ])
    const find = (eventName: string) =>
      findOtherEvents(
        db.pool,
        [...ids, 'new'].map((id) => named(id, eventName)),
      )
    expect(await find('order')).toEqual([])
    expect(await find('refund')).toEqual([0, 1, 2])
  })

  it('separates the same id of two projects', async () => {
    const one = anEnrichedEvent({ event: { eventId: 'shared' } })
    const two = anEnrichedEvent({
      event: { eventId: 'shared' },
      projectId: '01900000-0000-7000-8000-000000000002',
    })
    expect(await store(one, two)).toBe(2)
  })

  it('stores each event once when many writers have the same events in any order', async () => {
    const events = Array.from({ length: 200 }, (_, n) =>
      anEnrichedEvent({ event: { eventId: `contended-${n}` } }),
    )
    const { shuffled } = seededRandom()
    const counts = await Promise.all(Array.from({ length: 8 }, () => store(...shuffled(events))))
    expect(counts.reduce((sum, count) => sum + count, 0)).toBe(200)
  })

  it('creates the partition that old events need', async () => {
    const old = anEnrichedEvent({ event: { eventId: 'old' }, receivedAt: '2023-07-15T12:00:00.000Z' })
    await createEventPartitions(db).ensureFor([old])
    expect(await store(old)).toBe(1)
  })

  it('completes the events of an earlier version, without those of people who were erased since', async () => {
    const events = Array.from({ length: 5 }, (_, n) =>
      anEnrichedEvent({ event: { eventId: `incomplete-${n}`, visitorId: `v${n}` } }),
    )
    await store(...events)
    const removed = anEnrichedEvent({ event: { eventId: 'removed since' } })
    let incomplete = [...events, removed].map(keyOfEvent)
    const written: EnrichedEvent[] = []
    const erased: EventKey[] = []
    const analytics = {
      listIncompleteEvents: async function* ({ limit }: { limit: number }) {
        for (let start = 0; start < incomplete.length; start += limit)
          yield incomplete.slice(start, start + limit)
      },
      completeEvents: async (completed: readonly EnrichedEvent[]) => {
        written.push(...completed)
        // Between the read and the write of the store.
        await db.pool.query(
          `INSERT INTO ingest.erasures (project_id, kind, hash, erased_at, successor)
           SELECT $1, 'visitor', ${erasureHash('given')}, now() + interval '1 hour', gen_random_uuid()
           FROM (SELECT $1::uuid AS project_id, 'visitor' AS kind, 'v3' AS value) AS given
           ON CONFLICT DO NOTHING`,
          [events[0]?.projectId],
        )
      },
      eraseEvents: async (keys: readonly EventKey[]) => {
        erased.push(...keys)
      },
    }
    const counts: number[] = []
    const onCompleted = (count: number) => counts.push(count)
    const complete = createCompleteEvents({ db, analytics, batchEvents: 2, onCompleted })
    const { signal } = new AbortController()
    expect(await complete(signal)).toBe(5)
    expect(counts).toEqual([2, 2, 1])
    expect(new Set(written)).toEqual(new Set(events))
    expect(erased).toEqual([keyOfEvent(events[3] as EnrichedEvent)])
    incomplete = []
    expect(await complete(signal)).toBe(0)
  })

  it('stores any JSON', async () => {
    const properties = {
      __proto__: undefined,
      text: 'q"\\,{}',
      emoji: '😀',
      number: 1e308,
      nested: { list: [null, true, [1]] },
    }
    const event = anEnrichedEvent({ event: { eventId: 'odd', properties } })
    expect(await store(event)).toBe(1)
    const { rows } = await db.pool.query('SELECT properties FROM ingest.events WHERE event_id = $1', ['odd'])
    expect(rows[0]?.properties).toEqual(JSON.parse(JSON.stringify(properties)))
  })
})
