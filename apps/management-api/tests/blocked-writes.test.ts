import { eventually, services } from '@waymark/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { quotaLock } from '../src/quotas.ts'
import { type Browser, type Management, startManagement } from './start-management.ts'

describe.skipIf(!services)('a write that waits for a lock', () => {
  let management: Management
  let owner: Browser
  let projectId: string
  beforeAll(async () => {
    management = await startManagement({ repeats503: false })
    const registered = await management.register()
    owner = registered
    projectId = registered.account.projects[0]?.id ?? ''
  })
  afterAll(() => management?.stop())

  const ask = async (method: string, path: string, body?: unknown) => {
    const response = await owner.request(method, `/api/projects/${projectId}/${path}`, body)
    return { status: response.status, body: (await response.json()) as { id: string; data: unknown[] } }
  }
  /** Whether a transaction waits for a lock, and has lasted longer than Prisma allows (3 s). */
  const EXPIRED = `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'
    AND clock_timestamp() - xact_start > interval '3.5 seconds'`
  /** Runs `work` while another transaction holds the lock that a statement needs, until the time of `work` is over. */
  const whileLocked = async <T>(lock: string, value: string, work: () => Promise<T>): Promise<T> => {
    const client = await management.db.pool.connect()
    let ended = false
    try {
      await client.query('BEGIN')
      await client.query(lock, [value])
      const result = work().finally(() => {
        ended = true
      })
      await eventually(
        'its transaction has expired',
        async () => ended || (await management.db.pool.query(EXPIRED)).rowCount === 1,
      )
      await client.query('ROLLBACK')
      return await result
    } finally {
      await client.query('ROLLBACK')
      client.release()
    }
  }
  const QUOTA = 'SELECT pg_advisory_xact_lock(hashtextextended($1, 0))'

  it.each([
    ['metering-selectors', 'meteringSelectors', { eventName: 'order' }],
    ['coupon-pools', 'couponCodes', { name: 'Summer', kind: 'unique', discount: { type: 'free_shipping' } }],
  ] as const)('answers 503 and creates nothing once the lock is released: %s', async (path, quota, body) => {
    const lock = quotaLock(projectId, quota)
    expect(await whileLocked(QUOTA, lock, () => ask('POST', path, body))).toMatchObject({ status: 503 })
    expect((await ask('POST', path, body)).status).toBe(201)
    expect((await ask('GET', path)).body.data).toHaveLength(1)
  })

  it('answers 503 and changes nothing once the lock is released', async () => {
    const { body: link } = await ask('POST', 'links', { destination: 'https://shop.example/' })
    const change = (campaign: string) => ask('PATCH', `links/${link.id}`, { campaign })
    const lock = 'SELECT FROM link.links WHERE id = $1 FOR UPDATE'
    expect((await whileLocked(lock, link.id, () => change('late'))).status).toBe(503)
    expect((await ask('PATCH', `links/${link.id}`, { tags: ['seen'] })).body).toMatchObject({
      campaign: null,
    })
  })
})
