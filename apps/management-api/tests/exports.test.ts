import { resolveProfiles } from '@waymark/pipeline'
import { eventually, services } from '@waymark/testing'
import type { Response as Answer, RequestHandler } from 'express'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Management, startManagement } from './start-management.ts'

const WAITING = `
  SELECT FROM pg_stat_activity
  WHERE datname = current_database() AND wait_event_type = 'Lock' AND query ILIKE '%INSERT INTO core.audit_log%'`

describe.skipIf(!services)('exports of people', () => {
  let management: Management
  let path: string
  let key: string
  /** What is being answered. */
  const answers: Answer[] = []
  const remember: RequestHandler = (_req, res, next) => {
    answers.push(res)
    next()
  }

  beforeAll(async () => {
    management = await startManagement({
      arrange: (service) => ({
        ...service,
        routes: (service.routes ?? []).map((route) => ({
          ...route,
          handlers: [remember, ...route.handlers],
        })),
      }),
    })
    const { account } = await management.register()
    const projectId = account.projects[0]?.id ?? ''
    key = await management.key(projectId)
    const [id] = await resolveProfiles(management.db.pool, [{ projectId, visitorId: 'v', userId: null }])
    path = `${management.url}/api/projects/${projectId}/profiles/${id}/export`
  })
  afterAll(() => management?.stop())

  const exported = (signal: AbortSignal | null = null) =>
    fetch(path, { method: 'POST', headers: { 'X-API-Key': key }, signal })

  /** Keeps the audit log from being written while `work` goes on. */
  const whileAuditWaits = async (work: () => Promise<void>): Promise<void> => {
    const client = await management.db.pool.connect()
    try {
      await client.query('BEGIN; LOCK TABLE core.audit_log')
      await work()
    } finally {
      await client.query('ROLLBACK')
      client.release()
    }
  }
  const waiting = (count: number) =>
    eventually(`${count} are waiting`, async () => {
      const { rowCount } = await management.db.pool.query(WAITING)
      return rowCount === count
    })
  const works = () =>
    eventually('an export is made', async () => {
      const response = await exported()
      const text = await response.text()
      return response.status === 200 && text.includes('"identities":[{"kind":"visitor","value":"v"')
    })

  it('are made two at a time', async () => {
    const first: Promise<Response>[] = []
    await whileAuditWaits(async () => {
      first.push(exported(), exported())
      await waiting(2)
      const more = await Promise.all([exported(), exported()])
      expect(more.map(({ status }) => status)).toEqual([429, 429])
      expect(await more[0]?.json()).toMatchObject({ retryAfterSeconds: 10 })
    })
    const made = await Promise.all(first)
    expect(await Promise.all(made.map((response) => response.json()))).toMatchObject([
      { identities: [{ value: 'v' }] },
      { identities: [{ value: 'v' }] },
    ])
    await works()
  })

  it('are made again after some that were answered before they could begin', async () => {
    await whileAuditWaits(async () => {
      answers.length = 0
      const late = [exported(), exported()]
      await waiting(2)
      for (const answer of answers) answer.status(503).json({})
      expect((await Promise.all(late)).map(({ status }) => status)).toEqual([503, 503])
    })
    await works()
  })

  it('are made again after some whose readers left before they could begin', async () => {
    await whileAuditWaits(async () => {
      answers.length = 0
      const leaving = new AbortController()
      const left = [exported(leaving.signal), exported(leaving.signal)].map((one) => one.catch(() => 'left'))
      await waiting(2)
      leaving.abort()
      expect(await Promise.all(left)).toEqual(['left', 'left'])
      await eventually('it is noticed', () => answers.every((answer) => answer.closed))
    })
    await works()
  })
})
