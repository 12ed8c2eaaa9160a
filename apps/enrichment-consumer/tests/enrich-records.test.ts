import type { EnrichedEvent } from '@waymark/contracts/records/enriched-event'
import type { IdentifyRecord, QueuedRecord } from '@waymark/contracts/records/ingest-record'
import { openDatabase } from '@waymark/database'
import { type Delivery, type EventBus, publishing } from '@waymark/event-bus'
import type { PersonChanges } from '@waymark/pipeline'
import { anIngestRecord, createMemoryLog, createTestDatabase, services } from '@waymark/testing'
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
  const log = createMemoryLog()
  const announced: unknown[] = []
  const personChanges: PersonChanges = {
    announce: async (identities, profileIds) => void announced.push({ identities, profileIds }),
    announceQueued: async () => {},
  }
  const bus: EventBus = {
    ...publishing(
      async (_topic, records) =>
        void published.push(...records.map(({ value }) => JSON.parse(value) as EnrichedEvent)),
    ),
    subscribe: () => ({ start: async () => {}, stop: async () => {} }),
    readLag: async () => [],
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
    await createEnrichRecords({ bus, db, personChanges, log })(batch)
    return published.splice(0)
  }
  const eventBy = (visitorId: string | null, userId?: string) =>
    anIngestRecord({ event: { visitorId, ...(userId !== undefined && { userId }) } })

  it('applies a queued identify in order: later events see it, earlier ones do not', async () => {
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
    const { projectId } = identify
    expect(announced).toEqual([
      {
        identities: [
          { projectId, kind: 'visitor', value: 'laptop' },
          { projectId, kind: 'user', value: 'ann' },
        ],
        profileIds: [users],
      },
    ])
  })

  it('drops and reports traits that do not fit, and continues', async () => {
    const [seen] = await enrich(eventBy(null, 'full'))
    const filler = { a: 'x'.repeat(65_000) }
    const traitTimes = { a: { at: '2026-11-21T03:00:00.000Z', by: 'x', own: true } }
    const where = { id: seen?.profileId ?? '' }
    await db.prisma.profile.update({ where, data: { traits: filler, traitTimes } })
    const full = { ...identify, userId: 'full', visitorId: 'phone', traits: { b: 'x'.repeat(1_000) } }
    const [after] = await enrich(full, eventBy('phone'))
    expect(after?.profileId).toBe(seen?.profileId)
    expect((await db.prisma.profile.findUniqueOrThrow({ where })).traits).toEqual(filler)
    expect(log.lines).toContainEqual(
      expect.objectContaining({
        message: 'Traits of a queued identify were left out',
        details: expect.objectContaining({ keys: ['b'] }),
      }),
    )
  })

  it('treats omitted fields like empty ones', async () => {
    for (const record of [eventBy('laptop'), eventBy(null, 'ann')]) {
      const [complete] = await enrich({
        ...record,
        ipStorage: 'truncate',
        warnings: [],
        conversions: [],
        event: { ...record.event, clickIds: {} },
      })
      expect(complete).toBeDefined()
      expect(await enrich(record)).toEqual([complete])
    }
  })

  it('continues after a batch of identifies, and after a repeated one', async () => {
    expect(await enrich(identify)).toEqual([])
    const [event] = await enrich(identify, identify, eventBy('laptop'))
    expect(event?.profileId).toBe((await enrich(eventBy(null, 'ann')))[0]?.profileId)
  })

  it('keeps the order of events, and has no profile for events without ids', async () => {
    const events = await enrich(eventBy('a'), eventBy(null), identify, eventBy(null, 'b'))
    expect(events.map(({ visitorId, userId }) => visitorId ?? userId)).toEqual(['a', null, 'b'])
    expect(events[1]?.profileId).toBeNull()
  })
})
