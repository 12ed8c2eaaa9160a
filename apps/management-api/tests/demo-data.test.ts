import { randomUUID } from 'node:crypto'
import { createPurger, resolveProfiles, storeRejectedEvents } from '@waymark/pipeline'
import { beginDemoData, updateDemoData } from '@waymark/project-config'
import { anIngestRecord, PATIENCE_MS, services } from '@waymark/testing'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createErasurePurge } from '../src/profiles/profiles.ts'
import { type Browser, type Management, startManagement } from './start-management.ts'

describe.skipIf(!services)('the removal of demo data', () => {
  let management: Management
  let owner: Browser
  let projectId: string
  let isAway = false

  beforeAll(async () => {
    management = await startManagement({
      repeats503: false,
      adapt: (platform) => ({
        ...platform,
        eventStore: {
          ...platform.eventStore,
          eraseProfiles: (profiles) =>
            isAway
              ? Promise.reject(new Error('the store is away'))
              : platform.eventStore.eraseProfiles(profiles),
        },
      }),
    })
  })
  afterAll(() => management?.stop())
  beforeEach(async () => {
    isAway = false
    const registered = await management.register()
    owner = registered
    projectId = registered.account.projects[0]?.id ?? ''
    const { db } = management
    const visitorId = `demo-${randomUUID()}`
    await beginDemoData(db, { projectId, visitorIds: [visitorId], userIds: [], createdAt: new Date() })
    await updateDemoData(db, projectId, { completedAt: new Date() })
    await resolveProfiles(db.pool, [{ projectId, visitorId, userId: null }])
    const rejectedAt = new Date(Date.now() - 3_600_000).toISOString()
    const record = anIngestRecord({ projectId, receivedAt: rejectedAt, event: { visitorId } })
    await storeRejectedEvents(db.pool, [{ v: 1, id: randomUUID(), record, errors: [], rejectedAt }])
  })

  const remove = async () => (await owner.request('DELETE', `/api/projects/${projectId}/demo-data`)).status
  const read = async (resource: string) =>
    (await (await owner.request('GET', `/api/projects/${projectId}/${resource}`)).json()) as {
      present: boolean
      data: unknown[]
    }
  const purger = () => createPurger(management.platform)
  const never = new AbortController().signal

  it('is reported only once all data of its people is removed', async () => {
    isAway = true
    expect(await remove()).toBe(503)
    // The people are unknown by now, and their data is still stored.
    expect(await remove()).toBe(503)
    expect(await read('demo-data')).toMatchObject({ present: true })
    expect((await read('rejected-events')).data).toHaveLength(1)
    isAway = false
    expect(await purger().purgeAll(never)).toBe(1)
    expect(await remove()).toBe(204)
    expect(await read('demo-data')).toMatchObject({ present: false })
    expect((await read('rejected-events')).data).toEqual([])
  })

  it('removes gift cards, and keeps what they moved to cards of other pools', async () => {
    const call = async <T>(path: string, body: object) => {
      const answer = await owner.request('POST', `/api/projects/${projectId}/${path}`, body)
      expect({ path, status: answer.status }).toEqual({ path, status: expect.toBeOneOf([200, 201]) })
      return (await answer.json()) as T
    }
    const createPool = async (name: string, codes: readonly string[]) => {
      const pool = { name, kind: 'balance', amount: 1_000, currency: 'EUR' }
      const { id } = await call<{ id: string }>('coupon-pools', pool)
      await fetch(`${management.url}/api/projects/${projectId}/coupon-pools/${id}/import`, {
        method: 'POST',
        headers: { Origin: management.url, Cookie: owner.cookie, 'Content-Type': 'text/csv' },
        body: ['code', ...codes].join('\n'),
      })
      return id
    }
    const demo = await createPool('Demo', ['DEMO-1', 'DEMO-2'])
    const own = await createPool('Own', ['OWN-1'])
    await updateDemoData(management.db, projectId, { resources: { 'pool:giftCards': demo } })
    const [card] = (await read('coupons?q=DEMO-1')).data as { id: string }[]
    await call(`gift-cards/${card?.id}/transfer`, { to: 'DEMO-2', amount: 100, key: 'within' })
    await call(`gift-cards/${card?.id}/transfer`, { to: 'OWN-1', amount: 300, key: 'beyond' })

    expect(await remove()).toBe(204)
    expect((await read('coupons')).data).toMatchObject([
      { code: 'OWN-1', balance: { amount: 1_300, currency: 'EUR' } },
    ])
    expect(await read(`coupon-pools/${own}/ledger`)).toMatchObject({ balance: 1_300, transferred: 300 })
    const movements = (await read(`gift-cards/movements?poolId=${own}`)).data
    expect(movements).toMatchObject([{ kind: 'transferred', amount: 300 }, { kind: 'issued' }])
    expect((await read('gift-cards/movements')).data).toHaveLength(movements.length)
  })

  it('is done by one process at a time, and the others learn when it is done', async () => {
    isAway = true
    expect(await remove()).toBe(503)
    isAway = false
    const { rows } = await management.db.pool.query<{ id: string; profile_ids: string[]; erased_at: Date }>(
      'SELECT id, profile_ids, erased_at FROM ingest.erasure_jobs',
    )
    const [row] = rows
    if (!row) throw new Error('there is no job')
    const people = { projectId, profileIds: row.profile_ids, visitorIds: [], userIds: [] }
    const job = { id: row.id, erasedAt: row.erased_at, ...people }
    const purge = createErasurePurge(management.platform)
    let isPurged = false
    let purged: Promise<boolean> | undefined
    await management.db.transaction(async (client) => {
      await client.query('SELECT FROM ingest.erasure_jobs WHERE id = $1 FOR UPDATE', [job.id])
      purged = purge(job, PATIENCE_MS).finally(() => {
        isPurged = true
      })
      expect(await purger().purge(job, never)).toBe(false)
      expect(isPurged).toBe(false)
      await client.query('DELETE FROM ingest.erasure_jobs WHERE id = $1', [job.id])
    })
    expect(await purged).toBe(true)
  })
})
