import type { EnrichedEvent } from '@waymark/contracts/records/enriched-event'
import type { IngestRecord } from '@waymark/contracts/records/ingest-record'
import { enrichedEvents } from '@waymark/contracts/topics'
import { openDatabase } from '@waymark/database'
import { enrichEvent } from '@waymark/domain/enrichment'
import { type EventStore, EventStoreUnavailableError } from '@waymark/event-store'
import { openDuckDBStore } from '@waymark/event-store/duckdb'
import { anIngestRecord, createTestDatabase, services, storeAsBefore } from '@waymark/testing'
import { v7 as uuidv7 } from 'uuid'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { createEventWriter } from '../src/events/event-writer.ts'
import { createSyncProcessor } from '../src/events/sync-processor.ts'

const HOUR_MS = 60 * 60 * 1000
const MONTH_MS = 30 * 24 * HOUR_MS

const projectConfigs = {
  get: async () => ({ settings: {}, decisions: { countedEvents: new Set() } }) as never,
} as never

describe.skipIf(!services)('events that are sent or delivered again', () => {
  let database: Awaited<ReturnType<typeof createTestDatabase>>
  let db: ReturnType<typeof openDatabase>
  beforeAll(async () => {
    database = await createTestDatabase()
    db = openDatabase({ url: database.url, poolSize: 5, applicationName: 'test', onError: () => {} })
  })
  afterAll(async () => {
    await db.close()
    await database.drop()
  })

  /** Both paths of events into the stores of a new project. */
  const createPaths = async () => {
    const eventStore = await openDuckDBStore({
      path: ':memory:',
      memoryBytes: 100_000_000,
      threads: 1,
      queryTimeoutMs: 10_000,
    })
    onTestFinished(() => eventStore.close())
    const projectId = uuidv7()
    let isKilled = false
    const stores: EventStore = {
      ...eventStore,
      storeEvents: async (events, options) => {
        if (isKilled) throw new EventStoreUnavailableError('killed')
        await eventStore.storeEvents(events, options)
      },
    }
    const write = createEventWriter({ db, eventStore: stores, projectConfigs })
    const process = createSyncProcessor({ db, eventStore: stores, projectConfigs })
    const first = anIngestRecord({
      projectId,
      receivedAt: new Date(Date.now() - MONTH_MS - HOUR_MS).toISOString(),
      conversions: [{ selectorId: uuidv7(), amount: 4_900, currency: 'EUR', quantity: 1 }],
      event: { eventName: 'ordered', properties: { total: 49 } },
    })
    return {
      first,
      /** The first event `ms` later, as a client sends it again. */
      repeat: (ms: number, properties: object = first.event.properties): IngestRecord => ({
        ...first,
        receivedAt: new Date(Date.parse(first.receivedAt) + ms).toISOString(),
        event: { ...first.event, properties: { ...properties } },
      }),
      queued: async (record: IngestRecord) => void (await write([enrichEvent(record)])),
      synchronous: async (record: IngestRecord) => void (await process([record])),
      /** Lets a process end after the claim of an id and before the insert. */
      killBeforeInsert: async (send: () => Promise<void>): Promise<void> => {
        isKilled = true
        await expect(send()).rejects.toThrow()
        isKilled = false
      },
      /** What the relay of the outbox publishes, as the consumer gets it. */
      deliverOutbox: async (): Promise<void> => {
        const { rows } = await db.pool.query<{ value: string }>(
          `DELETE FROM ingest.outbox WHERE topic = $1 AND key LIKE $2 || ':%' RETURNING value`,
          [enrichedEvents.name, projectId],
        )
        for (const { value } of rows) await write([JSON.parse(value) as EnrichedEvent])
      },
      stored: async () => {
        const portions = await Array.fromAsync(eventStore.readEvents({ projectId, portion: () => 10 }))
        const { rows } = await db.pool.query<{ amount: string }>(
          'SELECT amount FROM ingest.conversions WHERE project_id = $1',
          [projectId],
        )
        return {
          totals: portions.flatMap(({ events }) => events).map(({ properties }) => properties.total),
          conversions: rows.map(({ amount }) => Number(amount)),
        }
      },
    }
  }
  const ONCE = { totals: [49], conversions: [4_900] }

  describe.each(['queued', 'synchronous'] as const)('%s', (path) => {
    it('are stored once, as they were first, whenever and with whatever they are sent again', async () => {
      const { first, repeat, stored, deliverOutbox, ...paths } = await createPaths()
      await paths[path](first)
      expect(await stored()).toEqual(ONCE)
      for (const again of ['queued', 'synchronous'] as const)
        for (const ms of [0, 1, HOUR_MS, MONTH_MS])
          for (const total of [49, 1]) {
            await paths[again](repeat(ms, { total }))
            expect([again, ms, total, await stored()]).toEqual([again, ms, total, ONCE])
          }
      await deliverOutbox()
      expect(await stored()).toEqual(ONCE)
    })

    it.each([1, HOUR_MS, MONTH_MS])(
      'are stored as they were first after a kill before the insert and a repeat %i ms later',
      async (ms) => {
        const { first, repeat, stored, deliverOutbox, killBeforeInsert, ...paths } = await createPaths()
        await killBeforeInsert(() => paths[path](first))
        const lacking = { ...ONCE, totals: [] }
        for (const total of [49, 1]) {
          await paths.queued(repeat(ms, { total }))
          expect(await stored()).toEqual(lacking)
        }
        // Kafka and the outbox deliver it again.
        if (path === 'queued') await paths.queued(first)
        await deliverOutbox()
        expect(await stored()).toEqual(ONCE)
        await paths.synchronous(repeat(ms, { total: 1 }))
        expect(await stored()).toEqual(ONCE)
      },
    )
  })

  it('are answered synchronously before the event of an earlier version is moved', async () => {
    const { first, stored, repeat, synchronous } = await createPaths()
    await storeAsBefore(db, [enrichEvent({ ...first, receivedAt: new Date().toISOString() })])
    await synchronous(repeat(MONTH_MS, { total: 1 }))
    expect(await stored()).toEqual({ totals: [], conversions: [] })
  })

  it('are refused synchronously while the first one is only in the outbox', async () => {
    const { stored, deliverOutbox, killBeforeInsert, synchronous, ...record } = await createPaths()
    const first = { ...record.first, receivedAt: new Date().toISOString() }
    const again = { ...first, receivedAt: new Date(Date.now() + 1).toISOString() }
    await killBeforeInsert(() => synchronous(first))
    await expect(synchronous(again)).rejects.toMatchObject({ code: 'store_unavailable' })
    await deliverOutbox()
    await synchronous(again)
    expect(await stored()).toEqual(ONCE)
  })
})
