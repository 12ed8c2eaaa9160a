import { randomUUID } from 'node:crypto'
import { openDatabase } from '@waymark/database'
import { anEnrichedEvent, createTestDatabase, services } from '@waymark/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { claimEvents } from '../src/events/event-queries.ts'
import { createForgetIds } from '../src/retention/forget-ids.ts'

const DAY_MS = 24 * 60 * 60 * 1000
const NOW = Date.parse('2026-06-01T12:00:00Z')

describe.skipIf(!services)('forgetting the ids of events', () => {
  let database: Awaited<ReturnType<typeof createTestDatabase>>
  let db: ReturnType<typeof openDatabase>

  beforeAll(async () => {
    database = await createTestDatabase()
    db = openDatabase({ url: database.url, poolSize: 4, applicationName: 'test', onError: () => {} })
  })
  afterAll(async () => {
    await db.close()
    await database.drop()
  })

  const newProject = async (settings: object): Promise<string> => {
    const [tenantId, projectId] = [randomUUID(), randomUUID()]
    await db.pool.query(`INSERT INTO core.tenants (id, name) VALUES ($1, 'a tenant')`, [tenantId])
    await db.pool.query(
      `INSERT INTO core.projects (id, tenant_id, name, settings) VALUES ($1, $2, 'a project', $3)`,
      [projectId, tenantId, settings],
    )
    return projectId
  }
  const anEvent = (projectId: string, receivedAt: number) =>
    anEnrichedEvent({
      projectId,
      receivedAt: new Date(receivedAt).toISOString(),
      event: { eventId: randomUUID() },
    })
  const claim = (events: ReturnType<typeof anEvent>[]) =>
    db.transaction((client) => claimEvents(client, events))
  const idsOf = async (projectId: string): Promise<string[]> =>
    (
      await db.pool.query('SELECT event_key AS key FROM ingest.event_ids WHERE project_id = $1', [projectId])
    ).rows
      .map(({ key }) => key)
      .sort()
  const never = new AbortController().signal
  /** Makes the next removal of a project due. */
  const letPass = (projectId: string) =>
    db.pool.query(
      `UPDATE ingest.id_removals SET due_at = now() - interval '1 second' WHERE project_id = $1`,
      [projectId],
    )

  it('asks for a repetition when an id is forgotten while its event is stored again', async () => {
    const projectId = await newProject({ deduplicationDays: 30 })
    const events = [anEvent(projectId, NOW - 31 * DAY_MS), anEvent(projectId, NOW)]
    await claim(events)
    const forget = createForgetIds({ pool: db.pool, now: () => NOW })
    const claimDuringRemoval = db.transaction((client) => {
      let statements = 0
      const query = async (...parameters: Parameters<typeof client.query>) => {
        statements += 1
        if (statements === 2) while ((await idsOf(projectId)).length > 1) await forget(never)
        return client.query(...parameters)
      }
      return claimEvents(
        new Proxy(client, { get: (target, name) => (name === 'query' ? query : Reflect.get(target, name)) }),
        events,
      )
    })
    await expect(claimDuringRemoval).rejects.toMatchObject({ code: 'store_unavailable' })
    expect((await claim(events)).added).toEqual([events[0]])
  })

  it('forgets those that are older than the setting of their project, in batches, and continues where it stopped', async () => {
    const [projectId, other] = [await newProject({ deduplicationDays: 30 }), await newProject({})]
    const old = Array.from({ length: 60 }, () => anEvent(projectId, NOW - 30 * DAY_MS - 1))
    const young = Array.from({ length: 10 }, () => anEvent(projectId, NOW - 30 * DAY_MS))
    await claim([...old, ...young, ...old.map((event) => ({ ...event, projectId: other }))])
    const forget = createForgetIds({ pool: db.pool, now: () => NOW, batchIds: 3 })
    // A run is twenty batches, and stops when it is asked to.
    expect(await forget(AbortSignal.abort())).toBe(1)
    expect(await idsOf(projectId)).toHaveLength(70)
    expect(await forget(never)).toBe(1)
    expect((await idsOf(projectId)).length).toBeGreaterThan(10)
    expect(await forget(never)).toBe(1)
    expect(await idsOf(projectId)).toEqual(young.map(({ eventId }) => eventId).sort())
    expect(await idsOf(other)).toHaveLength(60)
    expect(await forget(never)).toBe(0)
    // A repeat is a new event then; a repeat of a younger one is not.
    expect((await claim([...old.slice(0, 1), ...young.slice(0, 1)])).added).toEqual(old.slice(0, 1))
    await letPass(projectId)
    expect(await forget(never)).toBe(1)
    expect(await idsOf(projectId)).toHaveLength(10)
  })

  it('is the work of one process at a time', async () => {
    await newProject({ deduplicationDays: 30 })
    await db.pool.query('DELETE FROM ingest.id_removals')
    const projects = await db.pool.query(`SELECT FROM core.projects WHERE settings ? 'deduplicationDays'`)
    const forget = createForgetIds({ pool: db.pool, now: () => NOW })
    const done = await Promise.all(Array.from({ length: 8 }, () => forget(never)))
    expect(done.reduce((sum, count) => sum + count, 0)).toBeLessThanOrEqual(projects.rowCount ?? 0)
  })
})
