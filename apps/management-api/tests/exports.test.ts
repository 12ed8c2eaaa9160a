import { resolveProfiles } from '@waymark/pipeline'
import type { HttpRequest, Platform, Reply } from '@waymark/service-kit'
import { eventually, services } from '@waymark/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Management, startManagement } from './start-management.ts'

const WAITING = `
  SELECT FROM pg_stat_activity
  WHERE datname = current_database() AND wait_event_type = 'Lock' AND query ILIKE '%INSERT INTO core.audit_log%'`

describe.skipIf(!services)('exports of people', () => {
  let management: Management
  let path: string
  let key: string
  /** The pending responses, which a test can replace. */
  const asked: { request: HttpRequest; reply: (reply: Reply) => void }[] = []

  beforeAll(async () => {
    management = await startManagement({
      arrange: (service) => ({
        ...service,
        routes: (service.routes ?? []).map((route) => ({
          ...route,
          handler: (request, caller) => {
            const { promise, resolve } = Promise.withResolvers<Reply>()
            asked.push({ request, reply: resolve })
            return Promise.race([promise, route.handler(request, caller)])
          },
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

  /** Creates another project, and returns its export requests. */
  const anotherProject = async (): Promise<() => Promise<Response>> => {
    const { account } = await management.register()
    const projectId = account.projects[0]?.id ?? ''
    const headers = { 'X-API-Key': await management.key(projectId) }
    const [id] = await resolveProfiles(management.db.pool, [{ projectId, visitorId: 'v', userId: null }])
    return () =>
      fetch(`${management.url}/api/projects/${projectId}/profiles/${id}/export`, { method: 'POST', headers })
  }
  const exported = (signal: AbortSignal | null = null) =>
    fetch(path, { method: 'POST', headers: { 'X-API-Key': key }, signal })

  /** Blocks writes of the audit log during `work`. */
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

  it('are limited per project to two unfinished ones, and to four in total', async () => {
    const [second, third] = [await anotherProject(), await anotherProject()]
    const begun: Promise<Response>[] = []
    await whileAuditWaits(async () => {
      begun.push(exported(), exported())
      await waiting(2)
      begun.push(second(), third())
      await waiting(4)
      const refused = await third()
      expect(refused.status).toBe(503)
      expect(await refused.json()).toMatchObject({
        error: expect.stringMatching(/^4 exports of people are running/),
      })
    })
    const made = await Promise.all(begun)
    expect(made.map(({ status }) => status)).toEqual([200, 200, 200, 200])
    await Promise.all(made.map((response) => response.text()))
  })

  it('are limited to two at a time per project', async () => {
    const first: Promise<Response>[] = []
    await whileAuditWaits(async () => {
      first.push(exported(), exported())
      await waiting(2)
      const more = await Promise.all([exported(), exported()])
      expect(more.map(({ status }) => status)).toEqual([429, 429])
      expect(await more[0]?.json()).toMatchObject({
        error: expect.stringMatching(/^This project has 2 exports running/),
        retryAfterSeconds: 10,
      })
    })
    const made = await Promise.all(first)
    expect(await Promise.all(made.map((response) => response.json()))).toMatchObject([
      { identities: [{ value: 'v' }] },
      { identities: [{ value: 'v' }] },
    ])
    await works()
  })

  it('are possible again after failures before the start', async () => {
    await whileAuditWaits(async () => {
      asked.length = 0
      const late = [exported(), exported()]
      await waiting(2)
      for (const { reply } of asked) reply({ status: 503, body: {} })
      expect((await Promise.all(late)).map(({ status }) => status)).toEqual([503, 503])
    })
    await works()
  })

  it('are possible again after clients disconnected before the start', async () => {
    await whileAuditWaits(async () => {
      asked.length = 0
      const leaving = new AbortController()
      const left = [exported(leaving.signal), exported(leaving.signal)].map((one) => one.catch(() => 'left'))
      await waiting(2)
      leaving.abort()
      expect(await Promise.all(left)).toEqual(['left', 'left'])
      await eventually('it is noticed', () => asked.every(({ request }) => request.message.destroyed))
    })
    await works()
  })
})

type Exported = () => Promise<Response>

/** Makes reads of events wait once they are held. */
const createGate = () => {
  let opened: PromiseWithResolvers<void> | undefined
  let waiting = 0
  const adapt = (platform: Platform): Platform => ({
    ...platform,
    eventStore: {
      ...platform.eventStore,
      queriesUntil: (signal) => ({
        ...platform.eventStore.queriesUntil(signal),
        readEvents: async function* (query) {
          waiting++
          await opened?.promise
          waiting--
          yield* platform.eventStore.readEvents(query)
        },
      }),
    },
  })
  return {
    adapt,
    hold: () => {
      opened = Promise.withResolvers()
    },
    open: () => opened?.resolve(),
    waiting: () => waiting,
  }
}

describe.skipIf(!services)('exports of events', () => {
  it('are limited to two at a time per project and four per tenant, which leaves room for others', async () => {
    const gate = createGate()
    const management = await startManagement({ adapt: gate.adapt })
    const exporter = async () => {
      const { account } = await management.register()
      const projectId = account.projects[0]?.id ?? ''
      const headers = { 'X-API-Key': await management.key(projectId) }
      const exported = () => fetch(`${management.url}/api/projects/${projectId}/events/export`, { headers })
      // From then on its key is cached.
      expect((await exported()).status).toBe(200)
      return exported
    }
    const one = await exporter()
    const others = [await exporter()]
    const last = await exporter()
    const tenant = await management.register()
    const ofTenant = [tenant.account.projects[0]?.id ?? '']
    for (const name of ['Second', 'Third']) {
      const created = await tenant.request('POST', '/api/projects', { name })
      expect(created.status).toBe(201)
      ofTenant.push(((await created.json()) as { id: string }).id)
    }
    const [first, second, third] = ofTenant.map(
      (projectId) => () => tenant.request('GET', `/api/projects/${projectId}/events/export`),
    ) as [Exported, Exported, Exported]
    const running: Promise<Response>[] = []
    const waiting = () => eventually('all exports wait', () => gate.waiting() === running.length)
    const refusal = async (exported: () => Promise<Response>) => {
      const response = await exported()
      return [response.status, ((await response.json()) as { error: string }).error]
    }
    try {
      gate.hold()
      running.push(one(), one())
      await waiting()
      expect(await refusal(one)).toEqual([429, expect.stringMatching(/^This project has 2 exports running/)])
      running.push(first(), first(), second(), second())
      await waiting()
      expect(await refusal(third)).toEqual([
        429,
        expect.stringMatching(/^The projects of this tenant have 4 exports running/),
      ])
      for (const exported of others) running.push(exported(), exported())
      await waiting()
      running.push(last())
      await waiting()
    } finally {
      gate.open()
    }
    const made = await Promise.all(running)
    expect(await Promise.all(made.map((response) => response.text()))).toEqual(running.map(() => ''))
    await management.stop()
  })
})
