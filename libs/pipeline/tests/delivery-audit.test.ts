import { randomUUID } from 'node:crypto'
import type { IngestRecord } from '@waymark/contracts/records/ingest-record'
import { openDatabase } from '@waymark/database'
import { eventKeyOf } from '@waymark/domain/ingestion'
import { EventStoreUnavailableError } from '@waymark/event-store'
import { openDuckDBStore } from '@waymark/event-store/duckdb'
import { anEnrichedEvent, createMemoryLog, createTestDatabase, services } from '@waymark/testing'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createDeliveryAudit } from '../src/delivery-audit/audit-deliveries.ts'
import { createDeliverySampler } from '../src/delivery-audit/sample-deliveries.ts'
import { type OutcomeCount, readDeliveries } from '../src/delivery-audit/sample-queries.ts'
import { createEventWriter } from '../src/events/event-writer.ts'

const SECOND_MS = 1_000
const MINUTE_MS = 60 * SECOND_MS
const DAY_MS = 24 * 60 * MINUTE_MS
const SELECTOR = '01900000-0000-7000-8000-00000000000a'

describe.skipIf(!services)('the delivery audit', () => {
  let database: Awaited<ReturnType<typeof createTestDatabase>>
  let db: ReturnType<typeof openDatabase>
  let eventStore: Awaited<ReturnType<typeof openDuckDBStore>>
  /** How far the fake clock is ahead, and what the audit found. */
  let ahead = 0
  let found: OutcomeCount[] = []
  /** Records that the pipeline has yet to process. */
  let lag = 0n
  const log = createMemoryLog()

  beforeAll(async () => {
    database = await createTestDatabase()
    db = openDatabase({ url: database.url, poolSize: 10, applicationName: 'test', onError: () => {} })
    eventStore = await openDuckDBStore({
      path: ':memory:',
      memoryBytes: 256 * 1024 * 1024,
      threads: 1,
      queryTimeoutMs: 10_000,
    })
  })
  afterAll(async () => {
    await eventStore.close()
    await db.close()
    await database.drop()
  })
  beforeEach(async () => {
    ahead = 0
    found = []
    lag = 0n
    await db.pool.query('DELETE FROM ingest.delivery_samples')
  })

  const now = (): number => Date.now() + ahead
  const newProject = async (settings: object = {}): Promise<string> => {
    const [tenantId, projectId] = [randomUUID(), randomUUID()]
    await db.pool.query(`INSERT INTO core.tenants (id, name) VALUES ($1, 'a tenant')`, [tenantId])
    await db.pool.query(
      `INSERT INTO core.projects (id, tenant_id, name, settings) VALUES ($1, $2, 'a project', $3)`,
      [projectId, tenantId, settings],
    )
    return projectId
  }
  /** An event that was acknowledged `agoMs` ago. */
  const anEvent = (projectId: string, { conversions = 0, agoMs = 0, happenedAgoMs = 0 } = {}) => ({
    ...anEnrichedEvent({
      projectId,
      receivedAt: new Date(Date.now() - agoMs).toISOString(),
      event: { eventId: randomUUID() },
    }),
    timestamp: new Date(Date.now() - Math.max(agoMs, happenedAgoMs)).toISOString(),
    conversions: Array.from({ length: conversions }, () => ({
      selectorId: SELECTOR,
      amount: 100,
      currency: 'EUR',
      quantity: null,
    })),
  })
  type Event = ReturnType<typeof anEvent>
  const recordOf = ({ projectId, receivedAt, timestamp, eventId, conversions }: Event): IngestRecord => ({
    v: 1,
    kind: 'event',
    projectId,
    receivedAt,
    event: { eventId, eventName: 'order_placed', properties: {}, clientTimestamp: timestamp },
    conversions,
  })
  const acknowledge = async (...events: readonly Event[]): Promise<void> => {
    const sampler = createDeliverySampler({ pool: db.pool, oneIn: 1 })
    sampler.sample(events.map(recordOf))
    await sampler.storeSamples()
  }
  const store = (...events: readonly Event[]) =>
    createEventWriter({
      db,
      eventStore,
      projectConfigs: {
        get: async () => ({ settings: {}, decisions: { countedEvents: new Set() } }) as never,
      },
    })(events)
  const openAudit = (reading: Pick<typeof eventStore, 'findEventNames'> = eventStore, clock = now) =>
    createDeliveryAudit({
      db,
      bus: {
        readLag: async (groups) =>
          groups.map(({ group, topic }) => ({
            group,
            topic: topic.name,
            records: Number(lag),
            partitions: [{ partition: 0, next: 0n, end: lag }],
          })),
      },
      eventStore: reading,
      now: clock,
      log,
      onSettled: (counts) => found.push(...counts),
    })
  const outcomes = () => found.map(({ outcome, n }) => ({ outcome, n }))
  const waiting = async (projectId: string): Promise<number> =>
    (await readDeliveries(db.pool, projectId, { from: 0, recentFrom: 0, limit: 10 })).waiting
  /** Checks until everything that the pipeline had a while ago is judged. */
  const auditUntilSure = async (audit = openAudit()): Promise<void> => {
    for (let look = 0; look < 3; look++) {
      ahead += 2 * MINUTE_MS
      await audit()
    }
  }

  it('finds a stored event, with its conversions, and the time until it could be read', async () => {
    const projectId = await newProject()
    const event = anEvent(projectId, { conversions: 1 })
    await store(event)
    await acknowledge(event)
    await openAudit(eventStore, () => Date.parse(event.receivedAt) + 2_500)()
    expect(found).toEqual([{ outcome: 'stored', seconds: 3, n: 1 }])
    expect(await waiting(projectId)).toBe(0)
  })

  it('waits for an event that is still in the pipeline, however long', async () => {
    const projectId = await newProject()
    const event = anEvent(projectId)
    await acknowledge(event)
    lag = 1n
    const audit = openAudit()
    await auditUntilSure(audit)
    ahead += DAY_MS
    await audit()
    expect(found).toEqual([])
    expect(await waiting(projectId)).toBe(1)
    await store(event)
    ahead += MINUTE_MS
    await audit()
    expect(outcomes()).toEqual([{ outcome: 'stored', n: 1 }])
  })

  it('finds a row that was deleted from the event store', async () => {
    const projectId = await newProject()
    const events = [anEvent(projectId), anEvent(projectId)]
    await store(...events)
    await eventStore.eraseEvents([{ projectId, eventKey: eventKeyOf(events[0]?.eventId ?? '') }])
    await acknowledge(...events)
    await auditUntilSure()
    expect(outcomes()).toEqual([
      { outcome: 'stored', n: 1 },
      { outcome: 'missing', n: 1 },
    ])
    expect(log.lines.filter(({ level }) => level === 'error').map(({ details }) => details)).toEqual([
      { projectId, eventKey: eventKeyOf(events[0]?.eventId ?? '') },
    ])
    expect(await waiting(projectId)).toBe(0)
  })

  it('finds an acknowledged event that no store has ever had', async () => {
    const projectId = await newProject()
    await acknowledge(anEvent(projectId))
    await auditUntilSure()
    expect(outcomes()).toEqual([{ outcome: 'missing', n: 1 }])
  })

  it('finds an event of which a conversion is missing', async () => {
    const projectId = await newProject()
    const event = anEvent(projectId, { conversions: 1 })
    await store(event)
    await db.pool.query('DELETE FROM ingest.conversions WHERE project_id = $1', [projectId])
    await acknowledge(event)
    await auditUntilSure()
    expect(outcomes()).toEqual([{ outcome: 'missing', n: 1 }])
  })

  it('expects no conversions of a repeat, whose id belongs to an earlier event', async () => {
    const projectId = await newProject()
    const first = anEvent(projectId, { agoMs: MINUTE_MS })
    const repeat = { ...anEvent(projectId, { conversions: 1 }), eventId: first.eventId }
    await store(first)
    await store(repeat)
    await acknowledge(repeat)
    await auditUntilSure()
    expect(outcomes()).toEqual([{ outcome: 'stored', n: 1 }])
  })

  it('finds a row that was inserted twice', async () => {
    const projectId = await newProject()
    const event = anEvent(projectId)
    await store(event)
    await eventStore.storeEvents([{ ...event, timestamp: new Date(Date.now() - DAY_MS).toISOString() }])
    await acknowledge(event)
    ahead = SECOND_MS
    await openAudit()()
    expect(outcomes()).toEqual([{ outcome: 'duplicated', n: 1 }])
  })

  it.each<[string, (projectId: string) => Promise<unknown>]>([
    [
      'an erasure',
      (projectId) =>
        db.pool.query(
          `INSERT INTO ingest.erasures (project_id, kind, hash, erased_at, successor)
           VALUES ($1, 'user', sha256(''), now(), gen_random_uuid())`,
          [projectId],
        ),
    ],
    [
      'a dead letter',
      (projectId) =>
        db.pool.query(
          `INSERT INTO ingest.dead_letters
             (project_id, consumer_group, topic, "partition", "offset", value, reason, failed_at)
           VALUES ($1::uuid, $1, 'events.enriched.v1', 0, 1, '', 'odd', now())`,
          [projectId],
        ),
    ],
    [
      'a deletion of itself',
      (projectId) => db.pool.query('DELETE FROM core.projects WHERE id = $1', [projectId]),
    ],
  ])('says nothing about events of a project with %s since their receipt', async (_, happens) => {
    const projectId = await newProject()
    await acknowledge(anEvent(projectId))
    await happens(projectId)
    await auditUntilSure()
    expect(outcomes()).toEqual([{ outcome: 'excused', n: 1 }])
  })

  it('says nothing about events that are older than their project keeps them', async () => {
    const projectId = await newProject({ retentionDays: 30 })
    await acknowledge(
      anEvent(projectId, { happenedAgoMs: 30 * DAY_MS }),
      anEvent(projectId, { happenedAgoMs: 28 * DAY_MS }),
    )
    await auditUntilSure()
    expect(outcomes().sort((a, b) => (a.outcome < b.outcome ? -1 : 1))).toEqual([
      { outcome: 'excused', n: 1 },
      { outcome: 'missing', n: 1 },
    ])
  })

  it('waits while the event store is unavailable', async () => {
    const projectId = await newProject()
    const event = anEvent(projectId)
    await store(event)
    await acknowledge(event)
    const unavailable = () => Promise.reject(new EventStoreUnavailableError('away'))
    await auditUntilSure(openAudit({ findEventNames: unavailable }))
    expect(found).toEqual([])
    ahead += MINUTE_MS
    await openAudit()()
    expect(outcomes()).toEqual([{ outcome: 'stored', n: 1 }])
  })

  it('counts each sample once, though several processes check', async () => {
    const projectId = await newProject()
    const events = Array.from({ length: 40 }, () => anEvent(projectId))
    await store(...events)
    await acknowledge(...events)
    await acknowledge(...events)
    for (let look = 0; look < 2; look++) {
      ahead += 2 * MINUTE_MS
      await Promise.all(Array.from({ length: 5 }, () => openAudit()()))
    }
    expect(found.reduce((sum, { n }) => sum + n, 0)).toBe(40)
    const { counts } = await readDeliveries(db.pool, projectId, { from: 0, recentFrom: 0, limit: 10 })
    expect(counts.reduce((sum, { n }) => sum + n, 0)).toBe(40)
  })

  it('takes the same events as samples in each process, and none when it is off', async () => {
    const projectId = await newProject()
    const events = Array.from({ length: 300 }, () => anEvent(projectId))
    const sampleWith = async (oneIn: number): Promise<string[]> => {
      await db.pool.query('DELETE FROM ingest.delivery_samples')
      const sampler = createDeliverySampler({ pool: db.pool, oneIn })
      sampler.sample(events.map(recordOf))
      await sampler.storeSamples()
      const { rows } = await db.pool.query<{ key: string }>(
        'SELECT event_key AS key FROM ingest.delivery_samples ORDER BY 1',
      )
      return rows.map(({ key }) => key)
    }
    const some = await sampleWith(10)
    expect(some.length).toBeGreaterThan(0)
    expect(some.length).toBeLessThan(300)
    expect(await sampleWith(10)).toEqual(some)
    expect(await sampleWith(0)).toEqual([])
    expect(await sampleWith(1)).toHaveLength(300)
  })

  it('keeps samples that could not be written, at most a thousand', async () => {
    const projectId = await newProject()
    const sampler = createDeliverySampler({ pool: db.pool, oneIn: 1 })
    const failing = createDeliverySampler({
      pool: { query: () => Promise.reject(new Error('away')) } as never,
      oneIn: 1,
    })
    failing.sample([recordOf(anEvent(projectId))])
    await expect(failing.storeSamples()).rejects.toThrow('away')
    await expect(failing.storeSamples()).rejects.toThrow('away')
    sampler.sample(Array.from({ length: 1_001 }, () => recordOf(anEvent(projectId))))
    await sampler.storeSamples()
    const { rows } = await db.pool.query('SELECT FROM ingest.delivery_samples')
    expect(rows).toHaveLength(1_000)
  })
})
