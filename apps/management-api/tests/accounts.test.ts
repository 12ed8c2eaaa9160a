import { randomUUID } from 'node:crypto'
import type { AccountView } from '@waymark/contracts/http/account-parts'
import type { SessionView } from '@waymark/contracts/http/accounts'
import { ensureDemoProject } from '@waymark/project-config'
import { services } from '@waymark/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createAccountLimits } from '../src/accounts/account-limits.ts'
import { forgetExpired } from '../src/accounts/session-queries.ts'
import { type Management, PASSWORD, startManagement } from './start-management.ts'

const newEmail = () => `${randomUUID()}@example.com`
const DAY_MS = 24 * 3_600_000

describe.skipIf(!services)('accounts', () => {
  let management: Management
  let aheadMs = 0

  beforeAll(async () => {
    management = await startManagement({
      adapt: (platform) => ({ ...platform, clock: () => Date.now() + aheadMs }),
    })
  })
  afterAll(() => management?.stop())

  const login = (email: string, password: string, headers: Record<string, string> = {}) =>
    management.browser().request('POST', '/api/auth/login', { email, password }, headers)

  describe('registration', () => {
    it('creates a user with a tenant and a project, and signs in', async () => {
      const email = newEmail()
      const browser = management.browser()
      const response = await browser.request('POST', '/api/auth/register', {
        email: email.toUpperCase(),
        password: PASSWORD,
        name: 'Grace',
        tenantName: 'Navy',
      })
      expect(response.status).toBe(201)
      const account = (await response.json()) as AccountView
      expect(account).toEqual({
        user: {
          id: expect.any(String),
          email,
          name: 'Grace',
          emailVerifiedAt: null,
          hasSecondFactor: false,
          createdAt: expect.any(String),
        },
        tenant: {
          id: expect.any(String),
          name: 'Navy',
          requiresSecondFactor: false,
          createdAt: expect.any(String),
        },
        closedProjectIds: [],
        projects: [
          {
            id: expect.any(String),
            tenantId: account.tenant?.id,
            name: 'My project',
            role: 'owner',
            createdAt: expect.any(String),
          },
        ],
      })
      const [cookie = ''] = response.headers.getSetCookie()
      expect(cookie).toMatch(
        /^waymark_session=[\w-]{43}; Max-Age=604800; Path=\/; Expires=[^;]+; HttpOnly; SameSite=Lax$/,
      )
      expect(await (await browser.request('GET', '/api/auth/me')).json()).toEqual(account)
    })

    it('stores neither the password nor the token', async () => {
      const { cookie, account } = await management.register()
      const { rows } = await management.db.pool.query(
        `SELECT u.password_hash, encode(s.token_hash, 'hex') AS token_hash
         FROM core.users u JOIN core.sessions s ON s.user_id = u.id WHERE u.id = $1`,
        [account.user.id],
      )
      expect(rows[0].password_hash).toMatch(/^\$argon2id\$/)
      const stored = JSON.stringify(rows)
      expect(stored).not.toContain(PASSWORD)
      expect(stored).not.toContain(cookie.split('=')[1])
    })

    it.each([
      ['a password of 11 characters', { password: 'k8#vT2!qLm9' }, 'password', 'minLength'],
      [
        'a password of 129 characters',
        { password: `k8#${'vT2!qLm9'.repeat(15)}ABCDEF` },
        'password',
        'maxLength',
      ],
      ['a common password', { password: 'Password1234' }, 'password', 'common'],
      ['a listed password', { password: '1q2w3e4r5t6y' }, 'password', 'common'],
      ['no address', { email: 'nobody' }, 'email', 'format'],
      ['an empty name', { name: '' }, 'name', 'minLength'],
      ['no name', { name: undefined }, 'name', 'required'],
    ])('refuses %s', async (_what, change, field, rule) => {
      const body = { email: newEmail(), password: PASSWORD, name: 'Ada', ...change }
      const response = await management.browser().request('POST', '/api/auth/register', body)
      expect(response.status).toBe(422)
      expect(await response.json()).toMatchObject({ errors: [{ field, rule }] })
    })

    it.each([12, 128])('accepts a password of %i characters', async (length) => {
      const password = 'k8#vT2!qLm9xW'.repeat(10).slice(0, length)
      const body = { email: newEmail(), password, name: 'Ada' }
      expect((await management.browser().request('POST', '/api/auth/register', body)).status).toBe(201)
      expect((await login(body.email, password)).status).toBe(200)
    })

    it('registers an address once under concurrency', async () => {
      const body = { email: newEmail(), password: PASSWORD, name: 'Ada' }
      const statuses = await Promise.all(
        Array.from({ length: 6 }, async () => {
          const { status } = await management.browser().request('POST', '/api/auth/register', body)
          return status
        }),
      )
      expect(statuses.toSorted()).toEqual([201, 422, 422, 422, 422, 422])
      expect(
        await management.db.prisma.tenant.count({ where: { name: 'Ada', projects: { none: {} } } }),
      ).toBe(0)
    })
  })

  describe('sign-in', () => {
    it('signs in with the password, ignoring the case of the address', async () => {
      const { account } = await management.register()
      const response = await login(account.user.email.toUpperCase(), PASSWORD)
      expect(response.status).toBe(200)
      expect(await response.json()).toEqual(account)
    })

    it('accepts the demo user', async () => {
      const demo = await ensureDemoProject(management.db)
      const response = await login(demo.email, demo.password)
      expect(response.status).toBe(200)
      expect(await response.json()).toMatchObject({ projects: [{ id: demo.projectId, role: 'owner' }] })
    })

    it('answers wrong passwords, unknown addresses and invalid ones the same', async () => {
      const { account } = await management.register()
      const bodies = await Promise.all(
        [
          login(account.user.email, 'a wrong password'),
          login(newEmail(), PASSWORD),
          login('nobody', ''),
          login(account.user.email, 'x'.repeat(500)),
        ].map(async (answer) => {
          const response = await answer
          return [response.status, await response.text(), response.headers.getSetCookie()]
        }),
      )
      expect(new Set(bodies.map((body) => JSON.stringify(body))).size).toBe(1)
      expect(bodies[0]?.[0]).toBe(401)
    })

    it('refuses a sign-in when the password was changed during the check', async () => {
      const { account, request } = await management.register()
      const change = request('POST', '/api/auth/change-password', {
        currentPassword: PASSWORD,
        newPassword: 'quite another 1 than before',
      })
      const attempts = Array.from({ length: 10 }, () => login(account.user.email, PASSWORD))
      expect((await change).status).toBe(204)
      await Promise.all(attempts)
      // Sessions from before the change have ended, and later ones are refused.
      expect(await management.db.prisma.session.count({ where: { userId: account.user.id } })).toBe(1)
    })

    it('handles 20 concurrent sign-ins, some of which clients repeat after a 503', async () => {
      const { account } = await management.register()
      const answers = await Promise.all(Array.from({ length: 20 }, () => login(account.user.email, PASSWORD)))
      expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]))
    })
  })

  describe('a session', () => {
    const sessionsOf = async (browser: Awaited<ReturnType<Management['register']>>) => {
      const response = await browser.request('GET', '/api/auth/sessions')
      return ((await response.json()) as { data: SessionView[] }).data
    }

    it('is refused after its end', async () => {
      const browser = await management.register()
      const stolen = browser.cookie
      const out = await browser.request('POST', '/api/auth/logout')
      expect(out.status).toBe(204)
      expect(out.headers.getSetCookie()[0]).toMatch(/^waymark_session=; Path=\/; Expires=Thu, 01 Jan 1970/)
      const thief = Object.assign(management.browser(), { cookie: stolen })
      const response = await thief.request('GET', '/api/auth/me')
      expect(response.status).toBe(401)
      expect(await response.json()).toEqual({ error: 'Missing or invalid session' })
    })

    it.each(['', 'waymark_session=', 'waymark_session=nonsense', `waymark_session=${'A'.repeat(43)}`])(
      'is not accepted from the cookie %j',
      async (cookie) => {
        const browser = Object.assign(management.browser(), { cookie })
        expect((await browser.request('GET', '/api/auth/me')).status).toBe(401)
      },
    )

    it('is listed, and can be ended from another session', async () => {
      const one = await management.register()
      const other = management.browser()
      const credentials = { email: one.account.user.email, password: PASSWORD }
      await other.request('POST', '/api/auth/login', credentials, { 'User-Agent': 'Telephone' })
      const listed = await sessionsOf(one)
      expect(listed).toMatchObject([
        { current: false, userAgent: 'Telephone' },
        { current: true, network: expect.stringMatching(/^(127\.0\.0\.0|::)$/) },
      ])
      const stranger = await management.register()
      const path = `/api/auth/sessions/${listed[0]?.id}`
      expect((await stranger.request('DELETE', path)).status).toBe(404)
      expect((await other.request('GET', '/api/auth/me')).status).toBe(200)
      expect((await one.request('DELETE', path)).status).toBe(204)
      expect((await one.request('DELETE', path)).status).toBe(404)
      expect((await other.request('GET', '/api/auth/me')).status).toBe(401)
    })

    it('lasts 7 days from its last use, which is stored once an hour', async () => {
      const browser = await management.register()
      try {
        aheadMs = 3_600_000 - 60_000
        expect((await browser.request('GET', '/api/auth/me')).headers.getSetCookie()).toEqual([])
        aheadMs = 6 * DAY_MS
        const renewed = await browser.request('GET', '/api/auth/me')
        expect(renewed.headers.getSetCookie()[0]).toContain(browser.cookie)
        aheadMs = 13 * DAY_MS - 60_000
        expect((await browser.request('GET', '/api/auth/me')).status).toBe(200)
        aheadMs = 21 * DAY_MS
        expect((await browser.request('GET', '/api/auth/me')).status).toBe(401)
      } finally {
        aheadMs = 0
      }
    })

    it('ends 30 days after its start, regardless of use', async () => {
      const browser = await management.register()
      const statusAfter = async (days: number) => {
        aheadMs = days * DAY_MS
        return (await browser.request('GET', '/api/auth/me')).status
      }
      try {
        for (const day of [6, 12, 18, 24, 29.9]) expect(await statusAfter(day)).toBe(200)
        expect(await statusAfter(30.1)).toBe(401)
      } finally {
        aheadMs = 0
      }
    })

    it('stays valid after a password change only where that was made', async () => {
      const one = await management.register()
      const other = management.browser()
      const { email } = one.account.user
      await other.request('POST', '/api/auth/login', { email, password: PASSWORD })
      const change = (currentPassword: string, newPassword: string) =>
        one.request('POST', '/api/auth/change-password', { currentPassword, newPassword })
      const newPassword = 'quite another 1 than before'
      const wrong = await change('not my password', newPassword)
      expect(wrong.status).toBe(422)
      expect(await wrong.json()).toMatchObject({ errors: [{ field: 'currentPassword', rule: 'mismatch' }] })
      expect((await change(PASSWORD, 'password1234')).status).toBe(422)
      expect((await change(PASSWORD, newPassword)).status).toBe(204)
      expect((await one.request('GET', '/api/auth/me')).status).toBe(200)
      expect((await other.request('GET', '/api/auth/me')).status).toBe(401)
      expect((await login(email, PASSWORD)).status).toBe(401)
      expect((await login(email, newPassword)).status).toBe(200)
    })

    it('refuses changes by pages of other sites', async () => {
      const browser = await management.register()
      const post = (headers: Record<string, string>) =>
        fetch(`${management.url}/api/projects`, {
          method: 'POST',
          headers: { Cookie: browser.cookie, 'Content-Type': 'application/json', ...headers },
          body: '{"name":"Mine"}',
        })
      for (const headers of [
        {},
        { Origin: 'https://evil.example' },
        { Origin: 'null' },
        { Origin: `${management.url}.evil.example` },
        { Origin: 'http://localhost' },
        { Origin: 'https://evil.example', 'X-Forwarded-Host': 'evil.example', 'X-Forwarded-Proto': 'https' },
      ]) {
        const response = await post(headers as Record<string, string>)
        expect([headers, response.status]).toEqual([headers, 403])
      }
      expect((await post({ Origin: management.url })).status).toBe(201)
      const signIn = await login(newEmail(), PASSWORD, { Origin: 'https://evil.example' })
      expect(signIn.status).toBe(403)
    })
  })

  it('are deleted with failed sign-ins after they expire', async () => {
    const browser = await management.register()
    const { email, id: userId } = browser.account.user
    await login(email, 'a wrong password')
    const count = async () => [
      await management.db.prisma.session.count({ where: { userId } }),
      await management.db.prisma.signInFailures.count(),
    ]
    const forgetIn = (ms: number) =>
      forgetExpired({ db: management.db, clock: () => Date.now() + ms }).run(new AbortController().signal)
    await forgetIn(0)
    const [sessions, failures] = await count()
    expect(sessions).toBe(1)
    expect(failures).toBeGreaterThan(0)
    await forgetIn(8 * DAY_MS)
    expect(await count()).toEqual([0, 0])
  })

  it('writes sign-ins and password changes to the audit log of the user’s projects', async () => {
    const browser = await management.register()
    await browser.request('POST', '/api/auth/login', {
      email: browser.account.user.email,
      password: PASSWORD,
    })
    const projectId = browser.account.projects[0]?.id
    const response = await browser.request('GET', `/api/projects/${projectId}/audit-log`)
    const actor = { kind: 'user', id: browser.account.user.id, name: browser.account.user.email }
    expect(await response.json()).toMatchObject({
      data: [
        { operation: 'login', actor },
        { operation: 'register', actor },
      ],
      nextCursor: null,
    })
  })
})

describe.skipIf(!services)('the limits of sign-in', () => {
  let management: Management
  const post = (path: string, body: object, ip: string) =>
    management.browser().request('POST', path, body, { 'X-Forwarded-For': ip })
  const expectLimited = async (response: Response, withinSeconds: number) => {
    expect(response.status).toBe(429)
    const { error, retryAfterSeconds } = (await response.json()) as {
      error: string
      retryAfterSeconds: number
    }
    expect(error).toBe('Too many attempts')
    expect(retryAfterSeconds).toBeGreaterThan(0)
    expect(retryAfterSeconds).toBeLessThanOrEqual(withinSeconds)
    expect(response.headers.get('Retry-After')).toBe(`${retryAfterSeconds}`)
  }

  beforeAll(async () => {
    management = await startManagement({
      trustedProxies: 1,
      env: { LIMIT_REGISTER_PER_HOUR: '', LIMIT_SIGN_IN_PER_MINUTE: '', LIMIT_SIGN_IN_FAILURES: '' },
    })
  })
  afterAll(() => management?.stop())

  const registration = () => ({ email: newEmail(), password: PASSWORD, name: 'Ada' })

  it('allow 10 registrations per hour and address', async () => {
    for (let count = 0; count < 10; count++)
      expect((await post('/api/auth/register', registration(), '192.0.2.1')).status).toBe(201)
    await expectLimited(await post('/api/auth/register', registration(), '192.0.2.1'), 3_600)
    expect((await post('/api/auth/register', registration(), '192.0.2.2')).status).toBe(201)
  })

  it('allow 5 failures per address and account, also under concurrency', async () => {
    const { email } = (await management.register()).account.user
    const guess = (password: string, ip = '192.0.2.3') => post('/api/auth/login', { email, password }, ip)
    const guesses = await Promise.all(Array.from({ length: 8 }, (_, index) => guess(`guess number ${index}`)))
    expect(guesses.map(({ status }) => status).toSorted()).toEqual([401, 401, 401, 401, 401, 429, 429, 429])
    await expectLimited(await guess(PASSWORD), 900)
    expect((await guess(PASSWORD, '192.0.2.4')).status).toBe(200)
    const unknown = newEmail()
    for (let count = 0; count < 5; count++)
      expect((await post('/api/auth/login', { email: unknown, password: 'x' }, '192.0.2.3')).status).toBe(401)
    await expectLimited(await post('/api/auth/login', { email: unknown, password: 'x' }, '192.0.2.3'), 900)
  })

  it('reset failures after a success', async () => {
    const { email } = (await management.register()).account.user
    const attempt = (password: string) => post('/api/auth/login', { email, password }, '192.0.2.5')
    for (const password of ['a', 'b', 'c', 'd', PASSWORD, 'e', 'f', 'g', 'h', PASSWORD])
      expect((await attempt(password)).status).toBe(password === PASSWORD ? 200 : 401)
  })

  it('do not count attempts that could not be checked', async () => {
    const { attempt } = createAccountLimits(management.platform)
    const email = newEmail()
    const away = () => attempt(email, '192.0.2.7', () => Promise.reject(new Error('away')))
    for (let count = 0; count < 6; count++) await expect(away()).rejects.toThrow('away')
    expect(await attempt(email, '192.0.2.7', async () => false)).toBe(false)
  })

  it('allow 20 attempts per minute and address', async () => {
    const attempt = () => post('/api/auth/login', { email: newEmail(), password: PASSWORD }, '192.0.2.6')
    // At once, because on a busy machine a minute may pass while they are made in turn.
    const answers = await Promise.all(Array.from({ length: 21 }, attempt))
    const [limited, ...others] = answers.toSorted((a, b) => b.status - a.status) as [Response, ...Response[]]
    expect(others.map(({ status }) => status)).toEqual(Array(20).fill(401))
    await expectLimited(limited, 60)
  })

  it("use the proxy's host and scheme, and then require HTTPS", async () => {
    const { email } = (await management.register()).account.user
    const proxied = { 'X-Forwarded-Host': 'app.example', 'X-Forwarded-Proto': 'https' }
    const ask = (method: string, path: string, headers: Record<string, string>, body?: object) =>
      management.browser().request(method, path, body, { ...proxied, ...headers })
    const credentials = { email, password: PASSWORD }
    const response = await ask('POST', '/api/auth/login', { Origin: 'https://app.example' }, credentials)
    const [cookie = ''] = response.headers.getSetCookie()
    expect(cookie).toMatch(/^__Host-waymark_session=[\w-]{43}; .*; HttpOnly; Secure; SameSite=Lax$/)
    const [pair = ''] = cookie.split(';')
    expect((await ask('GET', '/api/auth/me', { Cookie: pair })).status).toBe(200)
    // A sibling host could have set the name without the prefix.
    const tossed = await ask('GET', '/api/auth/me', { Cookie: pair.replace('__Host-', '') })
    expect(tossed.status).toBe(401)
    const logout = (Origin: string) => ask('POST', '/api/auth/logout', { Cookie: pair, Origin })
    expect((await logout('http://app.example')).status).toBe(403)
    expect((await logout('https://app.example')).status).toBe(204)
  })
})
