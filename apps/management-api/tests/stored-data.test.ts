import { randomUUID } from 'node:crypto'
import type { ValidationItem } from '@waymark/contracts/http/track-result'
import type { EnrichedEvent } from '@waymark/contracts/records/enriched-event'
import type { IngestRecord } from '@waymark/contracts/records/ingest-record'
import { EventStoreUnavailableError } from '@waymark/event-store'
import {
  applyIdentify,
  createEventWriter,
  createSyncProcessor,
  resolveProfiles,
  storeDeadLetters,
  storeRejectedEvents,
} from '@waymark/pipeline'
import { anEnrichedEvent, anIngestRecord, extent, services } from '@waymark/testing'
import fc from 'fast-check'
import { v7 as uuidv7 } from 'uuid'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Json, startWorld, type World } from './world.ts'

const selectorId = '01900000-0000-7000-8000-00000000005e'

describe.skipIf(!services)('the stored data of a project', () => {
  let world: World
  let writeEvents: ReturnType<typeof createEventWriter>
  const open = async (): Promise<void> => {
    world = await startWorld()
    const { db, eventStore, projectConfigs } = world.platform
    writeEvents = createEventWriter({ db, eventStore, projectConfigs })
  }
  beforeAll(open)
  afterAll(() => world?.stop())

  const manage: World['manage'] = (...args) => world.manage(...args)
  const profileFor = async (visitorId: string): Promise<string> => {
    const { db } = world.platform
    const [id] = await resolveProfiles(db.pool, [{ projectId: world.projectId, visitorId, userId: null }])
    if (!id) throw new Error('no profile')
    return id
  }
  /** Stores events of a visitor, with or without conversions. */
  const store = async (
    visitorId: string,
    events: {
      sale?: boolean
      receivedAt?: string
      properties?: Json
      eventName?: string
      warnings?: ValidationItem[]
    }[],
  ) => {
    const profileId = await profileFor(visitorId)
    const stored = events.map(({ sale, receivedAt, warnings = [], ...event }): EnrichedEvent => {
      const conversions = sale ? [{ selectorId, amount: 100, currency: 'EUR', quantity: null }] : []
      const about = { projectId: world.projectId, conversions, warnings, event: { visitorId, ...event } }
      return { ...anEnrichedEvent({ ...about, ...(receivedAt && { receivedAt }) }), profileId }
    })
    await writeEvents(stored)
    return stored.map(({ eventId }) => eventId)
  }
  it('counts an event once that is repeated with another time, and one that only the database has', async () => {
    const { db, eventStore } = world.platform
    const eventName = `repeated-${uuidv7()}`
    const event = anEnrichedEvent({
      projectId: world.projectId,
      event: { eventName, visitorId: 'v', eventId: eventName },
    })
    const count = async () => {
      const { body } = await manage(
        'GET',
        `stats?metric=events&eventName=${eventName}&from=2023-01-01T00:00:00Z&interval=month`,
      )
      return (body.series as { total: number }[])[0]?.total
    }
    const failing = createEventWriter({
      db,
      projectConfigs: world.platform.projectConfigs,
      eventStore: {
        ...eventStore,
        storeEvents: () => Promise.reject(new Error('stopped between the stores')),
      },
    })
    await expect(failing([event])).rejects.toThrow('stopped between the stores')
    expect(await count()).toBe(0)
    await writeEvents([event])
    expect(await count()).toBe(1)
    await writeEvents([
      { ...event, timestamp: '2024-02-01T00:00:00.000Z' },
      {
        ...event,
        receivedAt: new Date(Date.parse(event.receivedAt) + 1).toISOString(),
        timestamp: '2024-03-01T00:00:00.000Z',
      },
    ])
    expect(await count()).toBe(1)
  })

  it('has an event in both stores once a synchronous request that is sent again succeeds', async () => {
    const { eventStore } = world.platform
    const away = () => Promise.reject(new EventStoreUnavailableError('stopped between the stores'))
    const eventName = `sync-${uuidv7()}`
    // Recent, so that the stream may still bring the event.
    const day = new Date().toISOString().slice(0, 10)
    const sendAt = (receivedAt: string, total: number, storeEvents = eventStore.storeEvents) =>
      createSyncProcessor({ ...world.platform, eventStore: { ...eventStore, storeEvents } })([
        anIngestRecord({
          projectId: world.projectId,
          receivedAt,
          event: { eventId: eventName, eventName, properties: { total } },
          conversions: [{ selectorId, amount: total, currency: 'EUR', quantity: null }],
        }),
      ])
    const totals = async () => {
      const totalOf = async (metric: string, property?: string) => {
        const { body } = await manage('POST', 'analytics/trends', {
          series: [{ eventName, metric, property }],
          from: `${day}T00:00:00Z`,
          to: `${day}T23:59:59.999Z`,
          interval: 'day',
          includeBots: true,
        })
        return (body.series as { total: number }[])[0]?.total
      }
      return [await totalOf('events'), await totalOf('sum', 'properties.total'), await totalOf('revenue')]
    }
    const first = sendAt(`${day}T00:00:00.000Z`, 100, away)
    await expect(first).rejects.toMatchObject({ code: 'store_unavailable' })
    // The original is only in the outbox.
    await expect(sendAt(`${day}T00:00:01.000Z`, 7)).rejects.toMatchObject({ code: 'store_unavailable' })
    const { rows } = await world.platform.db.pool.query<{ value: string }>(
      `SELECT value FROM ingest.outbox WHERE lane = 'sync-events' AND value LIKE $1 ORDER BY id`,
      [`%${eventName}%`],
    )
    await writeEvents(rows.map(({ value }) => JSON.parse(value)))
    for (const second of ['02', '03']) {
      await sendAt(`${day}T00:00:${second}.000Z`, 7)
      expect(await totals()).toEqual([1, 100, 100])
    }
  })

  const reject = async (...records: IngestRecord[]): Promise<string[]> => {
    const errors: ValidationItem[] = [{ field: 'properties', rule: 'required', message: 'is required' }]
    const rejected = records.map((record) => ({
      v: 1 as const,
      id: uuidv7(),
      record,
      errors,
      rejectedAt: record.receivedAt,
    }))
    await world.platform.db.transaction((client) => storeRejectedEvents(client, rejected))
    return rejected.map(({ id }) => id)
  }
  let offsets = 0
  const bury = (value: unknown) => {
    offsets++
    return storeDeadLetters(world.platform.db.pool, [
      {
        v: 1,
        group: 'enrichment',
        topic: 'ingest.records.v1',
        partition: 0,
        offset: `${offsets}`,
        key: `${world.projectId}:v`,
        headers: {},
        reason: 'a test',
        failedAt: new Date().toISOString(),
        value: Buffer.from(JSON.stringify(value)).toString('base64'),
      },
    ])
  }

  it("shows a person's history, including merged profiles, under the id of any of them", async () => {
    const visitorId = randomUUID()
    const userId = randomUUID()
    const merged = await profileFor(visitorId)
    await store(visitorId, [{ eventName: 'first', receivedAt: new Date(Date.now() - 5_000).toISOString() }])
    await store(randomUUID(), [{ eventName: 'somebody else’s' }])
    const record = { v: 1, kind: 'identify', projectId: world.projectId, traits: {}, userId } as const
    const link = async (visitor: string) => {
      const applied = await applyIdentify(world.platform.db, {
        ...record,
        id: uuidv7(),
        visitorId: visitor,
        receivedAt: new Date().toISOString(),
      })
      return applied?.profileId
    }
    const users = await link(randomUUID())
    expect(await link(visitorId)).toBe(users)
    const later = new Date(Date.now() + 1_000).toISOString()
    await store(visitorId, [{ eventName: 'last', sale: true, receivedAt: later }])

    for (const id of [merged, users]) {
      expect((await manage('GET', `profiles/${id}`)).body).toMatchObject({ id: users, userId })
      const { body } = await manage('GET', `profiles/${id}/timeline`)
      const data = body.data as { type: string; event?: Json; conversion?: Json; identify?: Json }[]
      expect(data.map(({ type }) => type)).toEqual(['conversion', 'event', 'identify', 'identify', 'event'])
      expect(data[0]?.conversion).toMatchObject({ eventName: 'last', amount: 100 })
      expect(data[2]?.identify).toEqual({ visitorId, userId })
      expect(data[4]?.event).toMatchObject({ eventName: 'first', profileId: merged })
    }
    expect((await manage('GET', `profiles/${randomUUID()}`)).status).toBe(404)
    expect((await manage('GET', `profiles/${randomUUID()}/timeline`)).status).toBe(404)
  })

  it('infers a schema that can be saved', async () => {
    const eventName = randomUUID()
    await store(
      'v',
      Array.from({ length: 450 }, (_, n) => ({
        eventName,
        properties: { plan: n % 2 ? 'a' : 'b', n, ...(n < 10 && { odd: true }) },
      })),
    )
    const { status, body } = await manage('POST', 'event-definitions/infer', { eventName })
    expect([status, body.sampled]).toEqual([200, 450])
    expect(body.schema).toMatchObject({
      properties: { plan: { enum: ['a', 'b'] }, n: { type: 'integer' }, odd: { type: 'boolean' } },
      required: ['n', 'plan'],
    })
    expect((await manage('POST', 'event-definitions', { name: eventName, schema: body.schema })).status).toBe(
      201,
    )
    expect((await manage('POST', 'event-definitions/infer', { eventName, sampleSize: 7 })).body.sampled).toBe(
      7,
    )
    expect((await manage('POST', 'event-definitions/infer', { eventName: 'never' })).status).toBe(422)
    for (const [sampleSize, expected] of [
      [10_000, 200],
      [10_001, 422],
      [0, 422],
    ] as const)
      expect((await manage('POST', 'event-definitions/infer', { eventName, sampleSize })).status).toBe(
        expected,
      )
  })

  it('is counted with every bucket filled', async () => {
    const eventName = randomUUID()
    const at = (day: number) => `2024-03-0${day}T12:00:00.000Z`
    const warning = { field: 'properties.total', rule: 'type', message: 'must be an integer; got "12"' }
    await store('v', [
      { eventName, receivedAt: at(1), sale: true, warnings: [warning] },
      { eventName, receivedAt: at(3), warnings: [warning, warning] },
      { eventName, receivedAt: at(3) },
    ])
    const stats = async (query: string) =>
      (
        await manage(
          'GET',
          `stats?${query}&eventName=${eventName}&from=2024-03-01T00:00:00Z&to=2024-03-04T00:00:00Z`,
        )
      ).body
    expect(await stats('metric=events')).toEqual({
      metric: 'events',
      interval: 'day',
      from: '2024-03-01T00:00:00.000Z',
      to: '2024-03-04T00:00:00.000Z',
      groupBy: null,
      buckets: ['2024-03-01T00:00:00.000Z', '2024-03-02T00:00:00.000Z', '2024-03-03T00:00:00.000Z'],
      series: [{ group: null, other: false, currency: null, total: 3, values: [1, 0, 2] }],
    })
    expect((await stats('metric=visitors')).series).toMatchObject([{ total: 1, values: [1, 0, 1] }])
    expect((await stats('metric=warnings')).series).toMatchObject([{ total: 3, values: [1, 0, 2] }])
    expect((await stats('metric=warnings&groupBy=name')).series).toEqual([
      { group: eventName, other: false, currency: null, total: 3, values: [1, 0, 2] },
    ])
    expect((await stats('metric=revenue&groupBy=selector')).series).toEqual([
      { group: selectorId, other: false, currency: 'EUR', total: 100, values: [100, 0, 0] },
    ])
    expect(
      (
        await manage(
          'GET',
          'stats?metric=events&eventName=never&to=2024-01-03T00:00:00Z&from=2024-01-01T00:00:00Z',
        )
      ).body.series,
    ).toMatchObject([{ total: 0, values: [0, 0] }])
    const span = 'from=2024-01-01T00:00:00Z&to=2024-01-03T00:00:00Z'
    const never = (query: string) => manage('GET', `stats?metric=warnings&eventName=never&${span}${query}`)
    expect((await never('')).body.series).toMatchObject([{ total: 0, values: [0, 0] }])
    expect((await never('&groupBy=country')).body.series).toEqual([])
    const hours = (to: string) =>
      manage('GET', `stats?metric=events&interval=hour&from=2024-01-01T00:00:00Z&to=${to}`)
    expect((await hours('2024-02-11T16:00:00Z')).body.buckets).toHaveLength(1_000)
    expect((await hours('2024-02-11T16:00:00.001Z')).status).toBe(422)
    for (const wrong of [
      'metric=clicks',
      'metric=events&interval=minute',
      'metric=events&groupBy=selector',
      'metric=warnings&groupBy=selector',
      'metric=events&from=yesterday',
      'metric=events&from=2024-01-02T00:00:00Z&to=2024-01-02T00:00:00Z',
      '',
    ])
      expect((await manage('GET', `stats?${wrong}`)).status, wrong).toBe(422)
  })

  it('is replayed from the quarantine by name, time, id, and as a whole; each record once', async () => {
    const eventName = randomUUID()
    const { body: definition } = await manage('POST', 'event-definitions', {
      name: eventName,
      schema: { required: ['total'] },
    })
    const record = (total?: number, name = eventName) =>
      anIngestRecord({
        projectId: world.projectId,
        receivedAt: '2026-03-01T00:00:00.000Z',
        event: { eventName: name, properties: total === undefined ? {} : { total } },
      })
    const valid = await reject(...Array.from({ length: 450 }, (_, n) => record(n)))
    const [invalid = ''] = await reject(record())
    await reject(record(1, randomUUID()))
    const replay = async (filter: Json) => {
      const { status, body } = await manage('POST', 'rejected-events/replay', filter)
      expect(status).toBe(200)
      return [body.replayed, body.stillInvalid, body.remaining, body.nextCursor]
    }
    expect(await replay({ ids: [invalid] })).toEqual([0, 1, 0, null])
    expect(await replay({ ids: valid.slice(0, 2) })).toEqual([2, 0, 0, null])
    expect(await replay({ ids: valid.slice(0, 3) })).toEqual([1, 0, 0, null])
    expect(await replay({ eventName, from: '2026-03-01T00:00:00.001Z' })).toEqual([0, 0, 0, null])
    expect(await replay({ eventName, to: '2026-03-01T00:00:00.001Z' })).toEqual([447, 1, 0, null])
    expect(await replay({ eventName })).toEqual([0, 1, 0, null])
    await manage('PATCH', `event-definitions/${definition.id}`, { schema: {} })
    expect(await replay({ eventName })).toEqual([1, 0, 0, null])
    // Including events without a definition, which are refused only if the project is configured so.
    expect(await replay({})).toEqual([1, 0, 0, null])
    expect((await manage('POST', 'rejected-events/replay', { cursor: 'x' })).status).toBe(422)
    expect(
      (await manage('POST', 'rejected-events/replay', { ids: Array(1_001).fill(randomUUID()) })).status,
    ).toBe(422)
  })

  it('is replayed from the dead letters, unless it would fail again', async () => {
    for (const n of [1, 2, 3])
      await bury(anIngestRecord({ projectId: world.projectId, event: { eventName: `buried ${n}` } }))
    await bury({ v: 1, kind: 'event' })
    const letters = await world.readAll('dead-letters', 2)
    const replay = async (filter: Json) => (await manage('POST', 'dead-letters/replay', filter)).body
    expect(await replay({ topic: 'events.enriched.v1' })).toEqual({
      replayed: 0,
      stillInvalid: 0,
      remaining: 0,
      nextCursor: null,
    })
    expect(await replay({ ids: ['x', letters.at(-1)?.id] })).toMatchObject({ replayed: 1, unknownIds: ['x'] })
    expect(await replay({ group: 'enrichment' })).toEqual({
      replayed: 2,
      stillInvalid: 1,
      remaining: 0,
      nextCursor: null,
    })
    expect(await replay({})).toMatchObject({ replayed: 0, stillInvalid: 1 })
    expect((await manage('POST', 'dead-letters/replay', { ids: ['x'] })).status).toBe(404)
  })

  describe('a list', () => {
    // A new project: each is read to its end by pages of one record.
    beforeAll(async () => {
      await world.stop()
      await open()
    })
    const visitorId = randomUUID()
    const schema = { properties: {} }
    let definition = ''
    const lists: [string, () => Promise<unknown>, (row: Json) => unknown][] = [
      [
        'api-keys',
        () => manage('POST', 'api-keys', { name: 'k', kind: 'sec', scopes: ['decide'] }),
        ({ id }) => id,
      ],
      [
        'event-definitions',
        () => manage('POST', 'event-definitions', { name: randomUUID(), schema }),
        ({ id }) => id,
      ],
      ['metering-selectors', () => manage('POST', 'metering-selectors', { eventName: 'e' }), ({ id }) => id],
      ['rejected-events', () => reject(anIngestRecord({ projectId: world.projectId })), ({ id }) => id],
      ['dead-letters', () => bury({}), ({ id }) => id],
      ['events', () => store(visitorId, [{}]), ({ eventId }) => eventId],
      ['conversions', () => store(visitorId, [{ sale: true }]), ({ eventId }) => eventId],
      ['timeline', () => store(visitorId, [{ sale: true }]), (row) => JSON.stringify(row)],
      [
        'versions',
        () => manage('PATCH', `event-definitions/${definition}`, { schema }),
        ({ version }) => version,
      ],
    ]

    it.each(lists)('of %s has no repeats or gaps while records are added', async (name, add, idOf) => {
      const { body } = await manage('POST', 'event-definitions', { name: randomUUID(), schema })
      definition = `${body.id}`
      const path =
        name === 'timeline'
          ? `profiles/${await profileFor(visitorId)}/timeline`
          : name === 'versions'
            ? `event-definitions/${definition}/versions`
            : name
      for (let n = 0; n < 12; n++) await add()
      const arbitrary = fc.record({
        limit: fc.integer({ min: 1, max: 9 }),
        inserts: fc.array(fc.integer({ min: 0, max: 3 }), { minLength: 1, maxLength: 5 }),
      })
      await fc.assert(
        fc.asyncProperty(arbitrary, async ({ limit, inserts }) => {
          const before = (await world.readAll(path, 500)).map(idOf)
          let page = 0
          const found = await world.readAll(path, limit, async () => {
            const many = page < 10 ? (inserts[page++ % inserts.length] ?? 0) : 0
            await Promise.all(Array.from({ length: many }, add))
          })
          const ids = found.map(idOf)
          expect(new Set(ids).size).toBe(ids.length)
          expect(ids).toEqual(expect.arrayContaining(before))
          expect(ids.filter((id) => before.includes(id))).toEqual(before)
        }),
        { numRuns: extent(2, 8) },
      )
    })
  })
})
