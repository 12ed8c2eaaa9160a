import type { EnrichedEvent, IdentifyRecord, QueuedRecord } from '@waymark/contracts'
import { openDatabase } from '@waymark/database'
import { compactRecordOf } from '@waymark/domain'
import { type Delivery, type EventBus, publishing } from '@waymark/event-bus'
import { anIngestRecord, createTestDatabase, services } from '@waymark/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createEnrichRecords } from '../src/enrich-records.ts'

const identify: IdentifyRecord = {
  v: 1,
  kind: 'identify',
  id: '01900000-0000-7000-8000-00000000000a',
  projectId: '01900000-0000-7000-8000-000000000001',
  receivedAt: '2026-11-21T04:00:00.000Z',
  visitorId: 'laptop',
  userId: 'ann',
  traits: { email: 'ann@example.com' },
}

describe.skipIf(!services)('enriching a batch', () => {
  let database: Awaited<ReturnType<typeof createTestDatabase>>
  let db: ReturnType<typeof openDatabase>
  const published: EnrichedEvent[] = []
  const bus: EventBus = {
    ...publishing(
      async (_topic, records) =>
        void published.push(...records.map(({ value }) => JSON.parse(value) as EnrichedEvent)),
    ),
    subscribe: () => ({ start: async () => {}, stop: async () => {} }),
    close: async () => {},
  }

  beforeAll(async () => {
    database = await createTestDatabase()
    db = openDatabase({ url: database.url, poolSize: 2, applicationName: 'test', onError: () => {} })
  })
  afterAll(async () => {
    await db.close()
    await database.drop()
  })

  const enrich = async (...records: QueuedRecord[]): Promise<EnrichedEvent[]> => {
    const batch = records.map(
      (value, index): Delivery<QueuedRecord> => ({
        topic: 'ingest.records.v1',
        partition: 0,
        offset: BigInt(index),
        key: null,
        value,
        headers: {},
      }),
    )
    await createEnrichRecords({ bus, db })(batch)
    return published.splice(0)
  }
  const eventBy = (visitorId: string | null, userId: string | null = null) =>
    anIngestRecord({ event: { visitorId, userId } })

  it('applies a queued identify in its place: events behind it see it, those before do not', async () => {
    const users = (await enrich(eventBy(null, 'ann')))[0]?.profileId
    const [before, after, other] = await enrich(
      eventBy('laptop'),
      identify,
      eventBy('laptop'),
      eventBy('stranger'),
    )
    expect(users).toEqual(expect.any(String))
    expect(before?.profileId).not.toBe(users)
    expect(after?.profileId).toBe(users)
    expect(other?.profileId).not.toBe(users)
    const profile = await db.prisma.profile.findUniqueOrThrow({ where: { id: users ?? '' } })
    expect(profile.traits).toEqual({ email: 'ann@example.com' })
  })

  it('makes the same of a record that leaves out what says nothing', async () => {
    for (const record of [eventBy('laptop'), eventBy(null, 'ann')]) {
      const [complete] = await enrich(record)
      expect(complete).toBeDefined()
      expect(await enrich(compactRecordOf(record))).toEqual([complete])
    }
  })

  it('goes on after a batch of identifies alone, and after one that is repeated', async () => {
    expect(await enrich(identify)).toEqual([])
    const [event] = await enrich(identify, identify, eventBy('laptop'))
    expect(event?.profileId).toBe((await enrich(eventBy(null, 'ann')))[0]?.profileId)
  })

  it('keeps the order of events, and has nobody for an event that names nobody', async () => {
    const events = await enrich(eventBy('a'), eventBy(null), identify, eventBy(null, 'b'))
    expect(events.map(({ visitorId, userId }) => visitorId ?? userId)).toEqual(['a', null, 'b'])
    expect(events[1]?.profileId).toBeNull()
  })
})
