import { randomUUID } from 'node:crypto'
import { type AccessTokenView, MAX_ACCESS_TOKENS } from '@waymark/contracts/http/access-tokens'
import type { AccountView } from '@waymark/contracts/http/account-parts'
import { generateToken } from '@waymark/domain/account'
import { services } from '@waymark/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { forgetExpired } from '../src/accounts/session-queries.ts'
import { type Browser, type Management, PASSWORD, startManagement } from './start-management.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
type Created = AccessTokenView & { token: string }

describe.skipIf(!services)('a personal access token', () => {
  let management: Management
  let aheadMs = 0

  beforeAll(async () => {
    management = await startManagement({
      adapt: (platform) => ({ ...platform, clock: () => Date.now() + aheadMs }),
      arrange: (service) => ({ ...service, loops: [] }),
    })
  })
  afterAll(() => management?.stop())

  const inMs = (ms: number) => new Date(Date.now() + ms).toISOString()
  const create = (browser: Browser, change: object = {}) =>
    browser.request('POST', '/api/auth/access-tokens', {
      name: 'Nightly report',
      projectIds: null,
      expiresAt: inMs(HOUR_MS),
      ...change,
    })
  const created = async (browser: Browser, change: object = {}): Promise<Created> => {
    const response = await create(browser, change)
    expect(response.status).toBe(201)
    return (await response.json()) as Created
  }
  /** Sends a request as a program does: without a cookie and an `Origin`. */
  const as = (token: string, method: string, path: string, body?: object, headers: object = {}) =>
    fetch(`${management.url}${path}`, {
      method,
      headers: {
        Authorization: `Bearer ${token}`,
        ...(body && { 'Content-Type': 'application/json' }),
        ...headers,
      },
      ...(body && { body: JSON.stringify(body) }),
    })
  const statusAs = async (...args: Parameters<typeof as>) => (await as(...args)).status
  const register = async () => {
    const browser = await management.register()
    const { user, projects } = browser.account
    return { browser, userId: user.id, email: user.email, projectId: projects[0]?.id ?? '' }
  }
  const newProject = async (browser: Browser, name: string) =>
    ((await (await browser.request('POST', '/api/projects', { name })).json()) as { id: string }).id
  const listed = async (browser: Browser) => {
    const response = await browser.request('GET', '/api/auth/access-tokens')
    return ((await response.json()) as { data: AccessTokenView[] }).data
  }

  it('is shown once, listed, stored as a hash, and announced by email', async () => {
    const { browser, email, projectId, userId } = await register()
    const { token, ...view } = await created(browser, { projectIds: [projectId] })
    expect(token).toMatch(/^wm_pat_[\w-]{43}$/)
    expect(view).toEqual({
      id: expect.any(String),
      name: 'Nightly report',
      projectIds: [projectId],
      createdAt: expect.any(String),
      lastUsedAt: null,
      expiresAt: expect.any(String),
    })
    expect(await listed(browser)).toEqual([view])
    const { rows } = await management.db.pool.query('SELECT * FROM core.access_tokens WHERE user_id = $1', [
      userId,
    ])
    expect(JSON.stringify(rows)).not.toContain(token.slice('wm_pat_'.length))
    const mails = { where: { recipient: email, kind: 'access_token_created' } }
    expect(await management.db.prisma.accountMail.count(mails)).toBe(1)
    const audit = await browser.request('GET', `/api/projects/${projectId}/audit-log`)
    expect(await audit.json()).toMatchObject({
      data: [{ operation: 'createAccessToken', resourceId: view.id }, { operation: 'register' }],
    })
    expect(
      JSON.stringify(await (await browser.request('GET', '/api/auth/access-tokens')).json()),
    ).not.toContain('wm_pat_')
  })

  it('is accepted where a session is, without a cookie and an Origin', async () => {
    const { browser, projectId } = await register()
    const { token } = await created(browser)
    const me = await as(token, 'GET', '/api/auth/me')
    expect(await me.json()).toEqual(browser.account)
    expect(me.headers.getSetCookie()).toEqual([])
    expect(await statusAs(token, 'PATCH', `/api/projects/${projectId}`, { name: 'Renamed' })).toBe(200)
    expect(await statusAs(token, 'POST', '/api/projects', { name: 'Made by a program' })).toBe(201)
    expect(await statusAs(token, 'PATCH', '/api/tenant/profile', { name: 'Shop Ltd' })).toBe(200)
    expect((await listed(browser))[0]?.lastUsedAt).toEqual(expect.any(String))
  })

  it('is refused where it is wrong, also beside a valid cookie', async () => {
    const { browser } = await register()
    for (const token of ['wm_pat_', `wm_pat_${'A'.repeat(43)}`, `wm_pat_${'A'.repeat(44)}`, browser.cookie]) {
      expect(await statusAs(token, 'GET', '/api/auth/me')).toBe(401)
      expect(await statusAs(token, 'GET', '/api/auth/me', undefined, { Cookie: browser.cookie })).toBe(
        token.startsWith('wm_pat_') ? 401 : 200,
      )
    }
    const { token } = await created(browser)
    // It is no API key.
    const asKey = await fetch(`${management.url}/api/projects`, { headers: { 'X-API-Key': token } })
    expect(asKey.status).toBe(401)
  })

  it('has the role that its user has at that moment', async () => {
    const owner = await register()
    const member = await management.member(owner.projectId, 'editor')
    const { token } = await created(member, { projectIds: [owner.projectId] })
    const path = `/api/projects/${owner.projectId}`
    const addInsight = () =>
      statusAs(token, 'POST', `${path}/suppressions`, { address: `${randomUUID()}@example.com` })
    expect(await addInsight()).toBe(201)
    expect(await statusAs(token, 'PATCH', path, { name: 'Mine' })).toBe(403)
    const change = (role: string) =>
      owner.browser.request('PATCH', `${path}/members/${member.userId}`, { role })
    expect((await change('viewer')).status).toBe(200)
    expect(await addInsight()).toBe(403)
    expect(await statusAs(token, 'GET', path)).toBe(200)
    expect((await change('admin')).status).toBe(200)
    expect(await statusAs(token, 'PATCH', path, { name: 'Ours' })).toBe(200)
    expect((await owner.browser.request('DELETE', `${path}/members/${member.userId}`)).status).toBe(204)
    expect(await statusAs(token, 'GET', path)).toBe(404)
  })

  it('reaches only its projects, of one of the two tenants of its user', async () => {
    const { browser, userId, projectId } = await register()
    const sibling = await newProject(browser, 'Sibling')
    const other = await register()
    await management.db.prisma.projectMember.create({
      data: { projectId: other.projectId, userId, role: 'admin' },
    })
    const { token } = await created(browser, { projectIds: [other.projectId] })
    const read = (id: string) => statusAs(token, 'GET', `/api/projects/${id}`)
    expect([await read(other.projectId), await read(projectId), await read(sibling)]).toEqual([200, 404, 404])

    const me = (await (await as(token, 'GET', '/api/auth/me')).json()) as AccountView
    expect(me.projects.map(({ id }) => id)).toEqual([other.projectId])
    expect(me.tenant?.id).toBe(other.browser.account.tenant?.id)
    const projects = (await (await as(token, 'GET', '/api/projects')).json()) as { data: { id: string }[] }
    expect(projects.data.map(({ id }) => id)).toEqual([other.projectId])
    const users = await (await as(token, 'GET', '/api/admin/users')).json()
    expect(JSON.stringify(users)).not.toContain(projectId)
    expect(await statusAs(token, 'GET', `/api/admin/users?projectId=${projectId}`)).toBe(404)
    const ownTenant = browser.account.tenant?.id
    expect(await statusAs(token, 'GET', `/api/tenant/profile?tenantId=${ownTenant}`)).toBe(404)
    expect(
      await statusAs(token, 'PATCH', `/api/tenant/profile?tenantId=${ownTenant}`, { name: 'Taken' }),
    ).toBe(404)
    expect(await statusAs(token, 'POST', '/api/projects', { name: 'More' })).toBe(403)
    expect(await statusAs(token, 'DELETE', `/api/projects/${projectId}/members/me`)).toBe(404)
    expect(await statusAs(token, 'DELETE', `/api/projects/${sibling}/members/me`)).toBe(404)
  })

  it('cannot change how its user signs in, nor create access that outlives it', async () => {
    const { browser } = await register()
    const { token, id } = await created(browser)
    const newPassword = 'quite another 1 than before'
    for (const [method, path, body] of [
      ['POST', 'logout'],
      ['GET', 'sessions'],
      ['DELETE', 'sessions'],
      ['DELETE', `sessions/${randomUUID()}`],
      ['POST', 'change-password', { currentPassword: PASSWORD, newPassword }],
      ['POST', 'send-verification'],
      ['POST', 'access-tokens', { name: 'n', projectIds: null, expiresAt: inMs(HOUR_MS) }],
      ['GET', 'access-tokens'],
      ['DELETE', `access-tokens/${id}`],
    ] as const) {
      const answer = await as(token, method, `/api/auth/${path}`, body)
      expect([method, path, answer.status]).toEqual([method, path, 403])
      expect(await answer.json()).toEqual({ error: expect.stringContaining('access token') })
    }
    const { projects } = browser.account
    const project = `/api/projects/${projects[0]?.id}`
    for (const [method, path, body] of [
      ['POST', 'api-keys', { name: 'Longer lived', kind: 'sec', scopes: ['manage:admin'] }],
      ['PATCH', `api-keys/${randomUUID()}`, { expiresAt: null }],
      ['POST', `api-keys/${randomUUID()}/rotate`, {}],
      ['POST', 'invitations', { email: 'stranger@example.com', role: 'owner' }],
      ['PATCH', `members/${browser.account.user.id}`, { role: 'admin' }],
      ['GET', 'identity-secret'],
      ['POST', 'identity-secret/rotate'],
    ] as const) {
      const answer = await as(token, method, `${project}/${path}`, body)
      expect([method, path, answer.status]).toEqual([method, path, 403])
      expect(await answer.json()).toEqual({
        error: 'An access token does not allow this; sign in with a session',
      })
    }
    expect((await browser.request('GET', `${project}/api-keys`)).status).toBe(200)
    expect(await statusAs(token, 'GET', `${project}/api-keys`)).toBe(200)
    // Joining a project is for people.
    const inviter = await register()
    const invited = await inviter.browser.request('POST', `/api/projects/${inviter.projectId}/invitations`, {
      email: browser.account.user.email,
      role: 'viewer',
    })
    const invitation = { token: ((await invited.json()) as { token: string }).token }
    expect(await statusAs(token, 'POST', '/api/auth/invitations/accept', invitation)).toBe(403)
  })

  it('is named in the audit log for what it does', async () => {
    const { browser, userId, email, projectId } = await register()
    const { token, id } = await created(browser)
    const path = `/api/projects/${projectId}`
    expect(await statusAs(token, 'PATCH', path, { name: 'By a program' })).toBe(200)
    expect(await statusAs(token, 'PATCH', '/api/tenant/profile', { name: 'By a program' })).toBe(200)
    expect((await browser.request('PATCH', path, { name: 'By hand' })).status).toBe(200)
    const made = (await (await as(token, 'POST', '/api/projects', { name: 'Made' })).json()) as { id: string }
    const actorsOf = async (project: string) => {
      const response = await browser.request('GET', `/api/projects/${project}/audit-log`)
      const { data } = (await response.json()) as { data: { operation: string; actor: object }[] }
      return data.map(({ operation, actor }) => [operation, actor])
    }
    const user = { kind: 'user', id: userId, name: email }
    const byToken = { ...user, accessToken: { id, name: 'Nightly report' } }
    const byHand = { ...user, accessToken: null }
    expect(await actorsOf(projectId)).toEqual([
      ['updateProject', byHand],
      ['updateTenantProfile', byToken],
      ['updateProject', byToken],
      ['createAccessToken', byHand],
      ['register', byHand],
    ])
    expect(await actorsOf(made.id)).toEqual([['createProject', byToken]])
    expect((await browser.request('DELETE', `/api/auth/access-tokens/${id}`)).status).toBe(204)
    expect((await actorsOf(made.id)).at(-1)).toEqual([
      'createProject',
      { ...user, accessToken: { id, name: null } },
    ])
  })

  it('is refused after it was revoked, which only its user can do', async () => {
    const { browser, projectId } = await register()
    const stranger = await register()
    const { token, id } = await created(browser)
    const path = `/api/auth/access-tokens/${id}`
    expect((await stranger.browser.request('DELETE', path)).status).toBe(404)
    expect(await listed(stranger.browser)).toEqual([])
    expect(await statusAs(token, 'GET', '/api/auth/me')).toBe(200)
    expect((await browser.request('DELETE', path)).status).toBe(204)
    expect((await browser.request('DELETE', path)).status).toBe(404)
    expect(await statusAs(token, 'GET', '/api/auth/me')).toBe(401)
    expect(await statusAs(token, 'GET', `/api/projects/${projectId}`)).toBe(401)
    const audit = await browser.request('GET', `/api/projects/${projectId}/audit-log`)
    expect(await audit.json()).toMatchObject({
      data: [{ operation: 'revokeAccessToken', resourceId: id }, {}, {}],
    })
  })

  it('is refused after its expiry, and then deleted', async () => {
    const { browser, userId } = await register()
    const { token } = await created(browser, { expiresAt: inMs(2 * HOUR_MS) })
    const count = () => management.db.prisma.accessToken.count({ where: { userId } })
    try {
      aheadMs = 2 * HOUR_MS - 30_000
      expect(await statusAs(token, 'GET', '/api/auth/me')).toBe(200)
      aheadMs = 2 * HOUR_MS
      expect(await statusAs(token, 'GET', '/api/auth/me')).toBe(401)
      expect(await listed(browser)).toEqual([])
    } finally {
      aheadMs = 0
    }
    const forgetIn = (ms: number) =>
      forgetExpired({ db: management.db, clock: () => Date.now() + ms }).run(new AbortController().signal)
    await forgetIn(HOUR_MS)
    expect(await count()).toBe(1)
    await forgetIn(2 * HOUR_MS)
    expect(await count()).toBe(0)
  })

  it('is revoked by a reset of the password, and stays valid after a change of it', async () => {
    const { browser, email, userId } = await register()
    const { token } = await created(browser)
    const changed = 'quite another 1 than before'
    const change = await browser.request('POST', '/api/auth/change-password', {
      currentPassword: PASSWORD,
      newPassword: changed,
    })
    expect(change.status).toBe(204)
    expect(await statusAs(token, 'GET', '/api/auth/me')).toBe(200)

    const emailed = generateToken()
    await management.db.prisma.accountMail.create({
      data: {
        id: randomUUID(),
        kind: 'reset_password',
        recipient: email,
        userId,
        tokenHash: new Uint8Array(emailed.hash),
        tokenExpiresAt: new Date(Date.now() + HOUR_MS),
      },
    })
    const reset = { token: emailed.token, password: PASSWORD }
    expect((await management.browser().request('POST', '/api/auth/reset-password', reset)).status).toBe(204)
    expect(await statusAs(token, 'GET', '/api/auth/me')).toBe(401)
  })

  it.each([
    ['an expiry in the past', { expiresAt: inMs(-1_000) }, 'expiresAt', 'range'],
    ['an expiry after 367 days', { expiresAt: inMs(367 * DAY_MS) }, 'expiresAt', 'range'],
    ['no expiry', { expiresAt: undefined }, 'expiresAt', 'required'],
    ['no projects', { projectIds: undefined }, 'projectIds', 'required'],
    ['an empty name', { name: '' }, 'name', 'minLength'],
    ['a project that does not exist', { projectIds: [randomUUID()] }, 'projectIds', 'member'],
  ])('is not created with %s', async (_what, change, field, rule) => {
    const { browser } = await register()
    const refused = await create(browser, change)
    expect(refused.status).toBe(422)
    expect(await refused.json()).toMatchObject({ errors: [{ field, rule }] })
    expect(await listed(browser)).toEqual([])
  })

  it('is not created for a foreign project, with the same answer as for a missing one', async () => {
    const { browser } = await register()
    const other = await register()
    const answerFor = async (id: string) => {
      const response = await create(browser, { projectIds: [id] })
      return { status: response.status, text: (await response.text()).replaceAll(id, 'ID') }
    }
    expect(await answerFor(other.projectId)).toEqual(await answerFor(randomUUID()))
    expect((await create(browser, { projectIds: [] })).status).toBe(422)
  })

  it(`is one of at most ${MAX_ACCESS_TOKENS} of its user, also under concurrency`, async () => {
    const { browser, email } = await register()
    const statuses: number[] = []
    for (let round = 0; round < 6; round++) {
      const responses = await Promise.all(Array.from({ length: 9 }, () => create(browser)))
      statuses.push(...responses.map(({ status }) => status))
    }
    expect(statuses.filter((status) => status === 201)).toHaveLength(MAX_ACCESS_TOKENS)
    expect(statuses.filter((status) => status === 422)).toHaveLength(54 - MAX_ACCESS_TOKENS)
    const mails = { where: { recipient: email, kind: 'access_token_created' } }
    expect(await management.db.prisma.accountMail.count(mails)).toBe(5)
  })

  it('expires after 366 days at most', async () => {
    const { browser } = await register()
    expect((await create(browser, { expiresAt: inMs(366 * DAY_MS - 1_000) })).status).toBe(201)
  })

  it('stays valid when the user ends all other sessions', async () => {
    const { browser, email, projectId } = await register()
    const { token } = await created(browser)
    const phone = management.browser()
    const tablet = management.browser()
    for (const one of [phone, tablet])
      await one.request('POST', '/api/auth/login', { email, password: PASSWORD })
    const stranger = await register()
    expect((await browser.request('DELETE', '/api/auth/sessions')).status).toBe(204)
    const statusOf = async (one: Browser) => (await one.request('GET', '/api/auth/me')).status
    expect([await statusOf(browser), await statusOf(phone), await statusOf(tablet)]).toEqual([200, 401, 401])
    expect(await statusOf(stranger.browser)).toBe(200)
    expect(await statusAs(token, 'GET', '/api/auth/me')).toBe(200)
    const audit = await browser.request(
      'GET',
      `/api/projects/${projectId}/audit-log?operation=endOtherSessions`,
    )
    expect(((await audit.json()) as { data: object[] }).data).toHaveLength(1)

    const all = (choice: string) => browser.request('DELETE', `/api/auth/sessions?accessTokens=${choice}`)
    expect((await all('some')).status).toBe(422)
    expect((await all('keep')).status).toBe(204)
    expect(await statusAs(token, 'GET', '/api/auth/me')).toBe(200)
    const other = await created(stranger.browser)
    expect((await all('revoke')).status).toBe(204)
    expect(await statusAs(token, 'GET', '/api/auth/me')).toBe(401)
    expect(await statusOf(browser)).toBe(200)
    expect(await statusAs(other.token, 'GET', '/api/auth/me')).toBe(200)
  })
})
