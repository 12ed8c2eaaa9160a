import { randomUUID } from 'node:crypto'
import type { EnrichedEvent } from '@waymark/contracts/records/enriched-event'
import { openDatabase } from '@waymark/database'
import { openDuckDBStore } from '@waymark/event-store/duckdb'
import type { ProjectConfigs } from '@waymark/project-config'
import { anEnrichedEvent, createTestDatabase, services } from '@waymark/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createEventWriter } from '../src/events/event-writer.ts'
import { createRetention, type RetentionDeps } from '../src/retention/remove-old-events.ts'

const DAY_MS = 24 * 60 * 60 * 1000
const startedAt = Date.now()
const today = Math.floor(startedAt / DAY_MS) * DAY_MS
const at = (ms: number): string => new Date(ms).toISOString()
const never = new AbortController().signal

describe.skipIf(!services)('the retention of projects', () => {
  let database: Awaited<ReturnType<typeof createTestDatabase>>
  let db: ReturnType<typeof openDatabase>
  let eventStore: Awaited<ReturnType<typeof openDuckDBStore>>

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

  const configs: ProjectConfigs = {
    get: async (projectId) => {
      const { rows } = await db.pool.query('SELECT settings FROM core.projects WHERE id = $1', [projectId])
      return { settings: rows[0]?.settings ?? {}, decisions: { countedEvents: new Set() } } as never
    },
  }
  const setRetention = (projectId: string, retentionDays: number | null) =>
    db.pool.query(
      `UPDATE core.projects SET settings = jsonb_strip_nulls(jsonb_build_object('retentionDays', $2::int))
       WHERE id = $1`,
      [projectId, retentionDays],
    )
  const newProject = async (retentionDays: number | null = null): Promise<string> => {
    const [tenantId, projectId] = [randomUUID(), randomUUID()]
    await db.pool.query(`INSERT INTO core.tenants (id, name) VALUES ($1, 'a tenant')`, [tenantId])
    await db.pool.query(`INSERT INTO core.projects (id, tenant_id, name) VALUES ($1, $2, 'a project')`, [
      projectId,
      tenantId,
    ])
    await setRetention(projectId, retentionDays)
    return projectId
  }
  const anEvent = (projectId: string, receivedAt: number, timestamp = receivedAt): EnrichedEvent => ({
    ...anEnrichedEvent({ projectId, receivedAt: at(receivedAt), event: { eventId: randomUUID() } }),
    timestamp: at(timestamp),
  })
  const write = (events: readonly EnrichedEvent[]) =>
    createEventWriter({ db, eventStore, projectConfigs: configs })(events)
  const remove = (deps: Partial<RetentionDeps> = {}, signal = never) =>
    createRetention({
      db,
      eventStore,
      archivedUntil: async () => undefined,
      now: () => startedAt,
      ...deps,
    })(signal)
  /** Makes the next removal of all projects due. */
  const letPass = () =>
    // `now()` alone may be rounded up to the next millisecond.
    db.pool.query(`UPDATE ingest.retention_runs SET due_at = now() - interval '1 second'`)
  const idsIn = async (table: string, projectId: string): Promise<string[]> => {
    const { rows } = await db.pool.query<{ key: string }>(
      `SELECT event_key AS key FROM ${table} WHERE project_id = $1 ORDER BY received_at`,
      [projectId],
    )
    return rows.map(({ key }) => key)
  }
  /** The ids of stored events, the first received first. */
  const storedIds = async (projectId: string): Promise<string[]> =>
    (await Array.fromAsync(eventStore.readEvents({ projectId, portion: () => 100 })))
      .flatMap(({ events }) => events)
      .map(({ eventId }) => eventId)
      .reverse()
  const inAnalytics = async (projectId: string): Promise<number> => {
    const rows = await eventStore.measureTrend({
      projectId,
      metric: 'events',
      from: 0,
      to: today + 2 * DAY_MS,
      buckets: [0],
      filters: [],
      maxGroups: 1,
      includeBots: true,
    })
    return rows.find(({ bucket }) => bucket === null)?.value ?? 0
  }

  it('removes whole days and keeps the ids and other projects', async () => {
    const [projectId, other] = [await newProject(2), await newProject()]
    const times = [-40, -3, -3, -3, -3, -3, -3, -3, -2.0001, -2, -1, 0].map((days) => today + days * DAY_MS)
    const events = times.map((time, n) => anEvent(projectId, Math.round(time) + (time === today ? 0 : n)))
    const others = times.map((time) => anEvent(other, Math.round(time)))
    // The project kept everything when they arrived.
    await setRetention(projectId, null)
    await write([...events, ...others])
    await setRetention(projectId, 2)
    await remove()
    const kept = events.slice(-3).map(({ eventId }) => eventId)
    expect(await storedIds(projectId)).toEqual(kept)
    expect(await inAnalytics(projectId)).toBe(3)
    expect((await idsIn('ingest.event_ids', projectId)).sort()).toEqual(
      events.map(({ eventId }) => eventId).sort(),
    )
    expect(await storedIds(other)).toHaveLength(12)
    expect(await inAnalytics(other)).toBe(12)
    // Neither a redelivery nor a repeat brings an event back.
    await write(events)
    await write(events.map((event) => ({ ...event, receivedAt: at(Date.now()) })))
    expect(await storedIds(projectId)).toEqual(kept)
    expect(await inAnalytics(projectId)).toBe(3)
  })

  it('does not store late events that are older than it', async () => {
    const projectId = await newProject(30)
    const late = anEvent(projectId, today, today - 31 * DAY_MS)
    // Not of the first day that is kept, which ends when midnight passes.
    const inTime = anEvent(projectId, today, today - 29 * DAY_MS)
    await write([late, inTime])
    await write([late, inTime])
    expect(await inAnalytics(projectId)).toBe(1)
    await remove({ now: () => today + 31 * DAY_MS })
    expect(await storedIds(projectId)).toEqual([])
    expect(await inAnalytics(projectId)).toBe(0)
  })

  it('removes nothing that the archive does not have', async () => {
    const projectId = await newProject()
    const events = [-9, -8, -7].map((days) => anEvent(projectId, today + days * DAY_MS))
    // Received now, about a time before.
    const late = anEvent(projectId, today, today - 9 * DAY_MS)
    await write([...events, late])
    await setRetention(projectId, 1)
    const asked: string[] = []
    await remove({
      archivedUntil: async (id) => {
        asked.push(id)
        return id === projectId ? today - 8 * DAY_MS : 0
      },
    })
    expect(asked).toContain(projectId)
    expect(await storedIds(projectId)).toEqual([...events.slice(1), late].map(({ eventId }) => eventId))
  })

  it('applies a change of the setting at once, and otherwise waits for its interval', async () => {
    const projectId = await newProject()
    await write([-9, -5, -3].map((days) => anEvent(projectId, today + days * DAY_MS)))
    const left = async () => (await storedIds(projectId)).length
    await setRetention(projectId, 6)
    await remove()
    expect(await left()).toBe(2)
    await remove({ now: () => today + 2 * DAY_MS })
    expect(await left()).toBe(2)
    await setRetention(projectId, 4)
    await remove()
    expect(await left()).toBe(1)
    await letPass()
    await remove({ now: () => today + 2 * DAY_MS })
    expect(await left()).toBe(0)
  })

  it('ends when the setting is changed while it removes from the event store', async () => {
    const projectId = await newProject()
    await write([-9, -8, -7, -6].map((days) => anEvent(projectId, today + days * DAY_MS)))
    await setRetention(projectId, 1)
    const changing = {
      removeOldestDay: async (range: { projectId: string; before: number }) => {
        const isRemoved = await eventStore.removeOldestDay(range)
        if (range.projectId === projectId) await setRetention(projectId, 30)
        return isRemoved
      },
    }
    await remove({ eventStore: changing })
    expect(await inAnalytics(projectId)).toBe(3)
  })

  it('runs in one process at a time', async () => {
    const projectId = await newProject()
    await write([anEvent(projectId, today - 9 * DAY_MS)])
    await setRetention(projectId, 1)
    let calls = 0
    const counting = {
      removeOldestDay: async (range: { projectId: string; before: number }) => {
        if (range.projectId === projectId) calls++
        return eventStore.removeOldestDay(range)
      },
    }
    await Promise.all(Array.from({ length: 6 }, () => remove({ eventStore: counting })))
    // Once for the day, and once to find that none is left.
    expect(calls).toBe(2)
  })

  it('continues after an abort, and after the event store was unavailable', async () => {
    const [projectId, other] = [await newProject(), await newProject()]
    const times = [-9, -9, -9, -9, -8, -7]
    for (const id of [projectId, other]) await write(times.map((days) => anEvent(id, today + days * DAY_MS)))
    for (const id of [projectId, other]) await setRetention(id, 1)
    const away = (range: { projectId: string; before: number }) =>
      range.projectId === projectId ? Promise.reject(new Error('away')) : eventStore.removeOldestDay(range)
    await expect(remove({ eventStore: { removeOldestDay: away } })).rejects.toThrow('away')
    expect([await inAnalytics(projectId), await inAnalytics(other)]).toEqual([6, 0])
    await letPass()
    const stop = new AbortController()
    const once = async (range: { projectId: string; before: number }) => {
      if (range.projectId === projectId) stop.abort()
      return eventStore.removeOldestDay(range)
    }
    await remove({ eventStore: { removeOldestDay: once } }, stop.signal)
    expect(await inAnalytics(projectId)).toBe(2)
    await remove()
    expect(await inAnalytics(projectId)).toBe(0)
  })

  it('does not store an event that arrives late by the queue, but keeps its id', async () => {
    const projectId = await newProject(1)
    const event = anEvent(projectId, today - 5 * DAY_MS)
    await write([event])
    expect(await storedIds(projectId)).toEqual([])
    expect(await idsIn('ingest.event_ids', projectId)).toHaveLength(1)
  })

  it('keeps conversions in PostgreSQL', async () => {
    const projectId = await newProject()
    const event = {
      ...anEvent(projectId, today - 5 * DAY_MS),
      conversions: [{ selectorId: randomUUID(), amount: 100, currency: 'EUR', quantity: null }],
    }
    await write([event])
    await setRetention(projectId, 1)
    await remove()
    expect(await inAnalytics(projectId)).toBe(0)
    expect(await idsIn('ingest.conversions', projectId)).toHaveLength(1)
  })
})
