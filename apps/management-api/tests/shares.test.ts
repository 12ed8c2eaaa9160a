import { randomUUID } from 'node:crypto'
import { MAX_FRAME_HOSTS, MIN_SHARED_PEOPLE } from '@waymark/contracts/http/shares'
import type { EnrichedEvent } from '@waymark/contracts/records/enriched-event'
import { anEnrichedEvent, services } from '@waymark/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { RECENT_MS } from '../src/http/reauthentication.ts'
import { type Browser, type Management, startManagement } from './start-management.ts'

type Json = Record<string, unknown>
type Answer = { status: number; body: Json; headers: Headers }

const FROM = Date.parse('2026-01-01T00:00:00Z')
const HOUR_MS = 3_600_000
const range = { from: '2026-01-01T00:00:00Z', to: '2026-01-08T00:00:00Z' }
const PASSWORD = 'open sesame'
/** Requests a minute of a client address. */
const LIMIT = 10

describe.skipIf(!services)('shared links', () => {
  let management: Management
  let owner: Browser
  let projectId = ''
  let clients = 0
  let beforeQuery: (() => Promise<unknown>) | undefined

  beforeAll(async () => {
    management = await startManagement({
      trustedProxies: 1,
      env: { LIMIT_SHARED_PER_MINUTE: `${LIMIT}` },
      adapt: (platform) => ({
        ...platform,
        eventStore: {
          ...platform.eventStore,
          queriesUntil: (signal) => {
            const queries = platform.eventStore.queriesUntil(signal)
            return {
              ...queries,
              measureVisits: async (query) => {
                await beforeQuery?.()
                return queries.measureVisits(query)
              },
            }
          },
        },
      }),
    })
    const registered = await management.register()
    owner = registered
    projectId = registered.account.projects[0]?.id ?? ''
    let count = 0
    const event = (person: string, minutes: number, path: string, more: Partial<EnrichedEvent> = {}) => {
      const made = anEnrichedEvent({ projectId, event: { eventId: `e-${count++}`, visitorId: person } })
      return {
        ...made,
        eventName: 'page_view',
        timestamp: new Date(FROM + minutes * 60_000).toISOString(),
        profileId: uuidOf(person),
        context: { ...made.context, bot: false, path, country: 'DE' },
        ...more,
      }
    }
    const people = Array.from({ length: MIN_SHARED_PEOPLE }, (_, n) => `person-${n}`)
    await management.platform.eventStore.storeProfiles(
      people.map((person, n) => ({
        projectId,
        profileId: uuidOf(person),
        mergedInto: null,
        traits: { email: `${person}@shop.example`, name: 'Ann', plan: 'pro', seat: n < 4 ? 'few' : 'own' },
        version: 1,
      })),
    )
    await management.platform.eventStore.storeEvents(
      people.flatMap((person, n) => [
        event(person, n, '/'),
        event(person, n + 1, `/accounts/${person}`),
        event(person, n + 2, '/', { eventName: 'order', properties: { user: person, size: 'M' } }),
      ]),
    )
  })
  afterAll(() => management?.stop())

  const uuidOf = (person: string): string =>
    `01900000-0000-7000-8000-${person.replace(/\D/g, '').padStart(12, '0')}`

  const answerOf = async (response: Response): Promise<Answer> => {
    const text = await response.text()
    const isJson = response.headers.get('content-type')?.startsWith('application/json')
    return { status: response.status, body: isJson ? JSON.parse(text) : {}, headers: response.headers }
  }
  const manage = async (method: string, resource: string, body?: unknown, by = owner): Promise<Answer> =>
    answerOf(await by.request(method, `/api/projects/${projectId}/${resource}`, body))
  const share = async (body: Json = {}): Promise<{ id: string; secret: string }> => {
    const { status, body: made } = await manage('POST', 'shares', { kind: 'web', name: 'Press', ...body })
    expect([status, made]).toEqual([201, expect.anything()])
    return made as never
  }
  const shareDashboard = async (query: Json, kind = 'trends', more: Json = {}) => {
    const insight = await manage('POST', 'insights', { name: 'One', kind, query })
    expect(insight.status).toBe(201)
    const insightId = `${insight.body.id}`
    const dashboard = await manage('POST', 'dashboards', { name: 'Shop', insightIds: [insightId] })
    const made = await share({ kind: 'dashboard', dashboardId: dashboard.body.id, ...more })
    return { ...made, insightId }
  }

  /** Somebody with another address each time, who is not signed in. */
  const visit = async (
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<Answer> => {
    const address = `2001:db8:${(clients++).toString(16)}::1`
    return answerOf(
      await fetch(`${management.url}${path}`, {
        method: body === undefined ? 'GET' : 'POST',
        headers: { 'X-Forwarded-For': address, 'Content-Type': 'application/json', ...headers },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      }),
    )
  }
  const read = (secret: string, headers?: Record<string, string>) =>
    visit(`/api/shared/${secret}`, undefined, headers)

  it('are created, listed, changed and revoked, and the audit log names each change', async () => {
    const made = await manage('POST', 'shares', { kind: 'web', name: 'Press', password: PASSWORD })
    expect(made.status).toBe(201)
    const { id, secret, url } = made.body as { id: string; secret: string; url: string }
    expect(secret).toMatch(/^[\w-]{43}$/)
    expect(url).toMatch(new RegExp(`/shared/${secret}$`))
    const { body: one } = await manage('GET', `shares/${id}`)
    expect(one).toMatchObject({
      id,
      kind: 'web',
      hasPassword: true,
      frameHosts: [],
      expiresAt: null,
      version: 1,
    })
    const { body: list } = await manage('GET', 'shares')
    expect((list.data as Json[]).map((row) => row.id)).toContain(id)
    expect(JSON.stringify([one, list])).not.toMatch(new RegExp(`${secret}|argon2|passwordHash`))
    const stored = await management.db.prisma.share.findUniqueOrThrow({ where: { id } })
    expect(JSON.stringify(stored)).not.toContain(secret)
    expect(stored.passwordHash).toMatch(/^\$argon2id\$/)
    const changed = await manage('PATCH', `shares/${id}`, { name: 'Board', password: null })
    expect(changed).toMatchObject({ status: 200, body: { name: 'Board', hasPassword: false, version: 2 } })
    expect((await read(secret)).status).toBe(200)
    expect((await manage('DELETE', `shares/${id}`)).status).toBe(204)
    expect((await read(secret)).status).toBe(404)
    expect((await manage('DELETE', `shares/${id}`)).status).toBe(404)
    const { body: audit } = await manage('GET', `audit-log?resourceId=${id}`)
    expect(audit.data).toMatchObject([
      { operation: 'revokeShare' },
      { operation: 'updateShare', fields: ['name', 'password'] },
      { operation: 'createShare' },
    ])
  })

  it.each<[Json, string]>([
    [{ kind: 'dashboard' }, 'dashboardId'],
    [{ kind: 'web', dashboardId: randomUUID() }, 'dashboardId'],
    [{ kind: 'dashboard', dashboardId: randomUUID() }, 'dashboardId'],
    [{ expiresAt: '2020-01-01T00:00:00Z' }, 'expiresAt'],
    [{ password: 'seven 7' }, 'password'],
    [{ password: 'x'.repeat(129) }, 'password'],
    [{ frameHosts: ['https://wiki.example.com'] }, 'frameHosts'],
    [{ frameHosts: ['*'] }, 'frameHosts'],
    [{ frameHosts: ['*.com'] }, 'frameHosts'],
    [{ frameHosts: ['wiki.*.example.com'] }, 'frameHosts'],
    [{ frameHosts: ["wiki.example.com 'self'"] }, 'frameHosts'],
    [{ frameHosts: ['wiki.example.com; script-src *'] }, 'frameHosts'],
    [{ frameHosts: ['wiki.example.com\r\nX: y'] }, 'frameHosts'],
    [{ frameHosts: Array.from({ length: MAX_FRAME_HOSTS + 1 }, (_, n) => `h${n}.example`) }, 'frameHosts'],
  ])('refuse %j for its %s', async (body, field) => {
    const refused = await manage('POST', 'shares', { kind: 'web', name: 'Press', ...body })
    expect(refused.status).toBe(422)
    expect(refused.body.errors).toMatchObject([{ field: expect.stringContaining(field) }])
  })

  it('accept the longest lists and names', async () => {
    const hosts = ['*.example.com', 'localhost:3000', '127.0.0.1', 'xn--bcher-kva.example']
    const many = Array.from({ length: MAX_FRAME_HOSTS - hosts.length }, (_, n) => `h${n}.example`)
    const { secret } = await share({ frameHosts: [...hosts, ...many], password: 'x'.repeat(128) })
    const page = await visit(`/shared/${secret}`)
    expect(page.headers.get('content-security-policy')).toContain(
      `frame-ancestors ${[...hosts, ...many].join(' ')}`,
    )
  })

  it('need a recent sign-in to open something, and none to close it', async () => {
    const { id } = await share()
    const admin = await management.member(projectId, 'admin')
    await management.db.prisma.session.updateMany({
      where: { userId: admin.userId },
      data: { verifiedAt: new Date(Date.now() - RECENT_MS) },
    })
    const code = { code: 'reauthentication_required' }
    expect(await manage('POST', 'shares', { kind: 'web', name: 'x' }, admin)).toMatchObject({
      status: 403,
      body: code,
    })
    const frame = { frameHosts: ['a.example'] }
    expect(await manage('PATCH', `shares/${id}`, frame, admin)).toMatchObject({ status: 403, body: code })
    expect((await manage('PATCH', `shares/${id}`, { password: PASSWORD }, admin)).status).toBe(200)
    expect((await manage('DELETE', `shares/${id}`, undefined, admin)).status).toBe(204)
  })

  it('belong to a project: others neither find nor change them', async () => {
    const { id } = await share()
    const other = await management.register()
    const otherProject = other.account.projects[0]?.id
    for (const [method, body] of [['GET'], ['PATCH', { name: 'Mine' }], ['DELETE']] as const) {
      const foreign = await other.request(method, `/api/projects/${otherProject}/shares/${id}`, body)
      expect(foreign.status).toBe(404)
    }
    const dashboard = await manage('POST', 'dashboards', { name: 'Shop', insightIds: [] })
    const stolen = await other.request('POST', `/api/projects/${otherProject}/shares`, {
      kind: 'dashboard',
      name: 'Stolen',
      dashboardId: dashboard.body.id,
    })
    expect(stolen.status).toBe(422)
  })

  it('answer alike whether unknown, revoked, expired, or of an archived project', async () => {
    const revoked = await share()
    await manage('DELETE', `shares/${revoked.id}`)
    const expired = await share({ expiresAt: new Date(Date.now() + HOUR_MS).toISOString() })
    expect((await read(expired.secret)).status).toBe(200)
    await management.db.prisma.share.update({ where: { id: expired.id }, data: { expiresAt: new Date() } })
    const gone = await management.register()
    const goneProject = gone.account.projects[0]?.id
    const made = await gone.request('POST', `/api/projects/${goneProject}/shares`, { kind: 'web', name: 'x' })
    const { secret: ofArchived } = (await made.json()) as { secret: string }
    await gone.request('DELETE', `/api/projects/${goneProject}`)
    for (const secret of ['x'.repeat(43), 'short', revoked.secret, expired.secret, ofArchived]) {
      expect(await read(secret)).toMatchObject({ status: 404, body: { error: 'Not found' } })
      expect(await visit(`/api/shared/${secret}/web`, range)).toMatchObject({ status: 404 })
      expect(await visit(`/api/shared/${secret}/insights/${randomUUID()}`, range)).toMatchObject({
        status: 404,
      })
      expect(await visit(`/api/shared/${secret}/unlock`, { password: PASSWORD })).toMatchObject({
        status: 404,
      })
      const page = await visit(`/shared/${secret}`)
      expect(page.status).toBe(404)
      expect(page.headers.get('content-security-policy')).toContain("frame-ancestors 'none'")
    }
  })

  it('answer nothing that was measured when they were revoked', async () => {
    const { id, secret } = await share()
    beforeQuery = () => manage('DELETE', `shares/${id}`)
    const answer = await visit(`/api/shared/${secret}/web`, range)
    beforeQuery = undefined
    expect(answer).toMatchObject({ status: 404, body: { error: 'Not found' } })
  })

  it('are neither stored, indexed, nor told to other sites', async () => {
    const { secret } = await share({ frameHosts: ['wiki.example.com'] })
    const page = await visit(`/shared/${secret}`)
    expect(page.status).toBe(200)
    expect(Object.fromEntries(page.headers)).toMatchObject({
      'cache-control': 'no-store',
      'referrer-policy': 'no-referrer',
      'x-robots-tag': 'noindex, nofollow',
      'content-security-policy': expect.stringContaining('frame-ancestors wiki.example.com'),
    })
    expect((await read(secret)).headers.get('cache-control')).toBe('no-store')
  })

  it('need their password, which a session does not replace', async () => {
    const { id, secret } = await share({ password: PASSWORD })
    const locked = { status: 403, body: { code: 'password_required' } }
    expect(await read(secret)).toMatchObject(locked)
    expect(await visit(`/api/shared/${secret}/web`, range)).toMatchObject(locked)
    expect(await answerOf(await owner.request('GET', `/api/shared/${secret}`))).toMatchObject(locked)
    expect(await visit(`/api/shared/${secret}/unlock`, { password: 'open barley' })).toMatchObject({
      status: 403,
      body: { code: 'wrong_password' },
    })
    const right = await visit(`/api/shared/${secret}/unlock`, { password: PASSWORD })
    expect(right.status).toBe(200)
    const pass = { 'X-Share-Pass': `${right.body.pass}` }
    expect((await read(secret, pass)).status).toBe(200)
    const other = await share({ password: PASSWORD })
    expect(await read(other.secret, pass)).toMatchObject(locked)
    const [endsAt = '', signature = ''] = `${right.body.pass}`.split('.')
    for (const forged of [
      `${Number(endsAt) + 1}.${signature}`,
      `${endsAt}.`,
      'x',
      `${Date.now()}.${signature}`,
    ])
      expect(await read(secret, { 'X-Share-Pass': forged })).toMatchObject(locked)
    await manage('PATCH', `shares/${id}`, { password: 'another sesame' })
    expect(await read(secret, pass)).toMatchObject(locked)
  })

  it('limit tries of a password for each link and address', async () => {
    const { secret } = await share({ password: PASSWORD })
    const from = { 'X-Forwarded-For': '198.51.100.7' }
    const attempt = (password: string, headers = from) =>
      visit(`/api/shared/${secret}/unlock`, { password }, headers)
    for (let n = 0; n < 5; n++) expect((await attempt('wrong one')).status).toBe(403)
    expect(await attempt(PASSWORD)).toMatchObject({
      status: 429,
      body: { retryAfterSeconds: expect.any(Number) },
    })
    expect((await attempt(PASSWORD, { 'X-Forwarded-For': '198.51.100.8' })).status).toBe(200)
  })

  /** The statuses of requests at once, because on a busy machine a minute may pass while they are made in turn. */
  const statusesOf = async (count: number, ask: () => Promise<{ status: number }>): Promise<number[]> =>
    (await Promise.all(Array.from({ length: count }, ask))).map(({ status }) => status).toSorted()

  it('limit requests of an address, also for links that do not exist', async () => {
    const from = { 'X-Forwarded-For': '203.0.113.9' }
    expect(await statusesOf(LIMIT + 1, () => read('x'.repeat(43), from))).toEqual([
      ...Array(LIMIT).fill(404),
      429,
    ])
    expect((await visit(`/shared/${'x'.repeat(43)}`, undefined, from)).status).toBe(429)
    expect((await read('x'.repeat(43))).status).toBe(404)
  })

  it('limit requests to one link from all addresses', async () => {
    const { secret } = await share()
    expect(await statusesOf(10 * LIMIT + 1, () => read(secret))).toEqual([
      ...Array(10 * LIMIT).fill(200),
      429,
    ])
  })

  it('show web analytics, without pages that few visitors have seen', async () => {
    const { secret } = await share()
    const { status, body } = await visit(`/api/shared/${secret}/web`, range)
    expect(status).toBe(200)
    expect(body.totals).toMatchObject({ visitors: MIN_SHARED_PEOPLE, views: 2 * MIN_SHARED_PEOPLE })
    expect(body.pages).toEqual([{ value: '/', visitors: MIN_SHARED_PEOPLE, views: MIN_SHARED_PEOPLE }])
    expect(body.exitPages).toEqual([])
    expect(JSON.stringify(body)).not.toContain('person-')
    expect((await visit(`/api/shared/${secret}/insights/${randomUUID()}`, range)).status).toBe(404)
  })

  it('answer a filter by a page of few visitors as by one that does not exist', async () => {
    const { secret } = await share()
    // In the second range are the visits of the range before.
    for (const [from, to] of [
      [range.from, range.to],
      ['2026-01-08T00:00:00Z', '2026-01-15T00:00:00Z'],
    ]) {
      const answers = ['/accounts/person-1', '/accounts/nobody'].map(async (value) => {
        const filters = [{ property: 'context.path', op: 'eq', value }]
        const query = { from, to, filters, compareTo: 'previous_period' }
        return (await visit(`/api/shared/${secret}/web`, query)).body
      })
      const [rare, none] = await Promise.all(answers)
      expect(none).toMatchObject({ totals: { visits: 0 }, previousTotals: { visits: 0 } })
      expect(rare).toEqual(none)
    }
    const filters = [{ property: 'context.path', op: 'eq', value: '/' }]
    const { body } = await visit(`/api/shared/${secret}/web`, { ...range, filters })
    expect(body.totals).toMatchObject({ visitors: MIN_SHARED_PEOPLE })
  })

  it.each([
    { property: 'traits.email', op: 'eq', value: 'person-1@shop.example' },
    { property: 'properties.user', op: 'eq', value: 'person-1' },
    { property: 'context.path', op: 'starts_with', value: '/accounts/p' },
    { property: 'visit.entryPage', op: 'contains', value: 'person' },
  ])('refuse the filter %j, which could tell who a visitor is', async (filter) => {
    const { secret } = await share()
    const refused = await visit(`/api/shared/${secret}/web`, { ...range, filters: [filter] })
    expect(refused.status).toBe(422)
  })

  const trend = (breakdown: string, more: Json = {}) => ({
    series: [{ eventName: 'order', metric: 'events', ...more }],
    interval: 'day',
    breakdown,
  })
  const groupsOf = (body: Json) =>
    ((body.trends as Json).series as Json[]).map(({ group, other, total }) => [group, other, total])

  it('show a dashboard, and no value that few people have', async () => {
    const all = MIN_SHARED_PEOPLE
    for (const [breakdown, groups] of [
      ['properties.size', [['M', false, all]]],
      ['traits.plan', [['pro', false, all]]],
      ['context.country', [['DE', false, all]]],
      ['properties.user', [[null, true, all]]],
      ['traits.seat', [[null, true, all]]],
      ['traits.email', [[null, true, all]]],
      // Five people have it, but it is a name.
      ['traits.name', [[null, true, all]]],
    ] as const) {
      const { secret, insightId } = await shareDashboard(trend(breakdown))
      const { status, body } = await visit(`/api/shared/${secret}/insights/${insightId}`, range)
      expect([breakdown, status, groupsOf(body)]).toEqual([breakdown, 200, groups])
    }
  })

  it('show no filters, which may name people', async () => {
    const filters = [{ property: 'traits.email', op: 'eq', value: 'person-1@shop.example' }]
    const { secret, insightId } = await shareDashboard(trend('properties.user', { filters }))
    const described = await read(secret)
    expect(described.body).toMatchObject({
      kind: 'dashboard',
      name: 'Shop',
      insights: [{ id: insightId, kind: 'trends', query: { breakdown: 'properties.user', interval: 'day' } }],
    })
    const { body } = await visit(`/api/shared/${secret}/insights/${insightId}`, range)
    expect(groupsOf(body)).toEqual([[null, true, 1]])
    expect(JSON.stringify([described.body, body])).not.toContain('person-')
  })

  it('show funnels, retention and paths without values of few people', async () => {
    const funnel = { steps: [{ eventName: 'page_view' }, { eventName: 'order' }], windowSeconds: 3600 }
    const byEmail = await shareDashboard({ ...funnel, breakdown: 'traits.email' }, 'funnel')
    const answer = await visit(`/api/shared/${byEmail.secret}/insights/${byEmail.insightId}`, range)
    expect(answer.body.funnel).toMatchObject({
      steps: [{ people: MIN_SHARED_PEOPLE }, { people: MIN_SHARED_PEOPLE }],
      groups: [],
    })
    const cohorts = { startEvent: 'page_view', returnEvent: 'order', interval: 'week', periods: 2 }
    const kept = await shareDashboard(cohorts, 'retention')
    const retention = await visit(`/api/shared/${kept.secret}/insights/${kept.insightId}`, range)
    expect(retention.status).toBe(200)
    expect(JSON.stringify(retention.body)).toContain('"cohorts"')
    const walked = await shareDashboard({ depth: 3, limit: 50 }, 'paths')
    const paths = await visit(`/api/shared/${walked.secret}/insights/${walked.insightId}`, range)
    expect(paths.status).toBe(200)
    expect(JSON.stringify(paths.body)).not.toContain('person-')
  })

  it('show only the insights of their dashboard', async () => {
    const { secret } = await shareDashboard(trend('properties.size'))
    const other = await shareDashboard(trend('traits.plan'))
    expect((await visit(`/api/shared/${secret}/insights/${other.insightId}`, range)).status).toBe(404)
    expect((await visit(`/api/shared/${secret}/web`, range)).status).toBe(404)
  })

  it('end with their dashboard', async () => {
    const { secret, id } = await shareDashboard(trend('properties.size'))
    const { body } = await manage('GET', `shares/${id}`)
    expect((await manage('DELETE', `dashboards/${body.dashboardId}`)).status).toBe(204)
    expect((await read(secret)).status).toBe(404)
  })
})
