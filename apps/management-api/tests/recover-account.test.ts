import { randomUUID } from 'node:crypto'
import type { AccountMailKind } from '@waymark/contracts/account-mail'
import type { AccountView } from '@waymark/contracts/http/account-parts'
import { generateToken } from '@waymark/domain/account'
import { services } from '@waymark/testing'
import { generate } from 'otplib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { resolvePasswordResets } from '../src/accounts/account-mail-queries.ts'
import { forgetExpired } from '../src/accounts/session-queries.ts'
import { noteCalls } from './note-calls.ts'
import { type Browser, type Management, PASSWORD, startManagement } from './start-management.ts'

const HOUR_MS = 3_600_000
const NEW_PASSWORD = 'quite another 1 than before'
const VALID_MS = { reset_password: HOUR_MS, verify_email: 24 * HOUR_MS }
const NOT_VALID = { errors: [{ field: 'token', rule: 'single_use' }] }

describe.skipIf(!services)('an account', () => {
  let management: Management
  let aheadMs = 0

  beforeAll(async () => {
    management = await startManagement({
      adapt: (platform) => ({ ...platform, clock: () => Date.now() + aheadMs }),
      // The tests resolve requests themselves.
      arrange: (service) => ({ ...service, loops: [] }),
    })
  })
  afterAll(() => management?.stop())

  const post = (path: string, body: object, browser: Browser = management.browser()) =>
    browser.request('POST', `/api/auth/${path}`, body)
  const forgot = (email: string) => post('forgot-password', { email })
  const reset = (token: string, password = NEW_PASSWORD, browser?: Browser) =>
    post('reset-password', { token, password }, browser)
  const login = (email: string, password: string, browser?: Browser) =>
    post('login', { email, password }, browser)
  const mailsTo = (recipient: string, kind: AccountMailKind) =>
    management.db.prisma.accountMail.findMany({ where: { recipient, kind }, orderBy: { id: 'asc' } })

  /** The token of the newest queued email, as the email consumer would send it. */
  const deliver = async (email: string, kind: keyof typeof VALID_MS): Promise<string> => {
    await resolvePasswordResets(management.db)
    const mail = (await mailsTo(email, kind)).findLast(({ mailDueAt }) => mailDueAt !== null)
    if (!mail) throw new Error(`no email of the kind ${kind} is due`)
    const { token, hash } = generateToken()
    const tokenExpiresAt = new Date(Date.now() + VALID_MS[kind])
    await management.db.prisma.accountMail.update({
      where: { id: mail.id },
      data: { tokenHash: new Uint8Array(hash), tokenExpiresAt, mailDueAt: null },
    })
    return token
  }
  const requestReset = async (email: string): Promise<string> => {
    expect((await forgot(email)).status).toBe(202)
    return deliver(email, 'reset_password')
  }
  const register = async () => {
    const browser = await management.register()
    return { browser, email: browser.account.user.email, userId: browser.account.user.id }
  }
  const statusOf = async (browser: Browser) => (await browser.request('GET', '/api/auth/me')).status
  const expectNotValid = async (response: Response) => {
    expect(response.status).toBe(422)
    expect(await response.json()).toMatchObject(NOT_VALID)
  }

  describe('whose password is forgotten', () => {
    it('gets a new one by the emailed token, and all its sessions end', async () => {
      const { browser, email, userId } = await register()
      const phone = management.browser()
      await login(email, PASSWORD, phone)
      const stranger = await management.register()

      expect((await forgot(email.toUpperCase())).status).toBe(202)
      const token = await deliver(email, 'reset_password')
      const answer = await reset(token)
      expect([answer.status, await answer.text(), answer.headers.getSetCookie()]).toEqual([204, '', []])
      expect([await statusOf(browser), await statusOf(phone), await statusOf(stranger)]).toEqual([
        401, 401, 200,
      ])
      expect((await login(email, PASSWORD)).status).toBe(401)
      const signedIn = await login(email, NEW_PASSWORD)
      expect(signedIn.status).toBe(200)
      // Receiving the email proves the address.
      expect(((await signedIn.json()) as AccountView).user.emailVerifiedAt).toEqual(expect.any(String))
      expect(await mailsTo(email, 'password_changed')).toMatchObject([
        { userId, mailDueAt: expect.any(Date) },
      ])
    })

    describe('and whose address', () => {
      /** What whoever registers an address could keep: one of each kind. */
      const setUp = async () => {
        const { browser, email, userId } = await register()
        const projectId = browser.account.projects[0]?.id ?? ''
        const tenantId = browser.account.tenant?.id ?? ''
        const { prisma } = management.db
        const { secret } = (await (await post('second-factor', {}, browser)).json()) as { secret: string }
        const code = await generate({ secret })
        expect((await post('second-factor/confirm', { code }, browser)).status).toBe(200)
        const token = { name: 'T', projectIds: null, expiresAt: new Date(Date.now() + HOUR_MS).toISOString() }
        expect((await post('access-tokens', token, browser)).status).toBe(201)
        const inProject = (path: string, body: object) =>
          browser.request('POST', `/api/projects/${projectId}/${path}`, body)
        const keys = [
          { name: 'A server', kind: 'sec', scopes: ['manage:admin'] },
          { name: 'A page', kind: 'pub', scopes: ['events:write'] },
        ]
        for (const key of keys) expect((await inProject('api-keys', key)).status).toBe(201)
        const invitation = { email: `${randomUUID()}@example.com`, role: 'owner' }
        expect((await inProject('invitations', invitation)).status).toBe(201)
        const webhook = { url: 'https://elsewhere.example/', topics: ['event'] }
        expect((await inProject('webhooks', webhook)).status).toBe(201)
        const provider = await prisma.oidcProvider.create({
          data: {
            id: randomUUID(),
            tenantId,
            name: 'P',
            issuer: 'https://idp.example',
            clientId: 'c',
            roleMappings: [],
          },
        })
        await prisma.userIdentity.create({
          data: { id: randomUUID(), userId, providerId: provider.id, subject: 's' },
        })
        const kept = async () => ({
          secondFactors: await prisma.secondFactor.count({ where: { userId } }),
          recoveryCodes: await prisma.recoveryCode.count({ where: { userId } }),
          accessTokens: await prisma.accessToken.count({ where: { userId } }),
          sessions: await prisma.session.count({ where: { userId } }),
          identities: await prisma.userIdentity.count({ where: { userId } }),
          providers: await prisma.oidcProvider.count({ where: { tenantId } }),
          invitations: await prisma.invitation.count({ where: { projectId, revokedAt: null } }),
          webhooks: await prisma.webhook.count({ where: { projectId, status: 'active' } }),
          keys: (await prisma.apiKey.findMany({ where: { projectId, revokedAt: null } })).map(
            ({ kind }) => kind,
          ),
        })
        return { browser, email, userId, projectId, kept }
      }

      it('was never confirmed: what was set up before is removed', async () => {
        const { email, browser, projectId, kept } = await setUp()
        expect((await reset(await requestReset(email))).status).toBe(204)
        expect(await kept()).toEqual({
          secondFactors: 0,
          recoveryCodes: 0,
          accessTokens: 0,
          sessions: 0,
          identities: 0,
          providers: 0,
          invitations: 0,
          webhooks: 0,
          keys: ['pub'],
        })
        expect((await login(email, NEW_PASSWORD, browser)).status).toBe(200)
        const path = `/api/projects/${projectId}/audit-log?operation=resetPassword`
        const entries = (await (await browser.request('GET', path)).json()) as {
          data: { fields: string[] }[]
        }
        expect(entries.data.map(({ fields }) => fields.toSorted())).toEqual([
          ['apiKeys', 'identities', 'invitations', 'oidcProviders', 'secondFactor', 'webhooks'],
        ])
      })

      it('was confirmed before: only sign-ins end', async () => {
        const { email, kept } = await setUp()
        const token = await deliver(email, 'verify_email')
        expect((await post('verify-email', { token, password: PASSWORD })).status).toBe(204)
        const before = await kept()
        expect((await reset(await requestReset(email))).status).toBe(204)
        expect(await kept()).toEqual({ ...before, accessTokens: 0, sessions: 0 })
        expect(before).toMatchObject({ secondFactors: 1, identities: 1, providers: 1, webhooks: 1 })
        expect((await login(email, NEW_PASSWORD)).status).toBe(202)
      })
    })

    it('accepts a token once, also under concurrency and from other browsers', async () => {
      const { email } = await register()
      const token = await requestReset(email)
      const stranger = await management.register()
      const answers = await Promise.all([
        reset(token),
        reset(token, 'an attempt at the same time 1'),
        reset(token, 'an attempt at the same time 2', stranger),
      ])
      expect(answers.map(({ status }) => status).toSorted()).toEqual([204, 422, 422])
      await expectNotValid(await reset(token, 'an attempt later 1'))
      await expectNotValid(await reset(token, 'an attempt later 2', stranger))
      expect(await statusOf(stranger)).toBe(200)
      expect(await mailsTo(email, 'password_changed')).toHaveLength(1)
    })

    it('accepts a token for 1 hour', async () => {
      const { email } = await register()
      const token = await requestReset(email)
      try {
        aheadMs = HOUR_MS + 1_000
        await expectNotValid(await reset(token))
        aheadMs = HOUR_MS - 30_000
        expect((await reset(token)).status).toBe(204)
      } finally {
        aheadMs = 0
      }
    })

    it('accepts only tokens of its own kind', async () => {
      const { email } = await register()
      const token = await deliver(email, 'verify_email')
      for (const wrong of [token, '', 'x', 'A'.repeat(43), 'A'.repeat(200)])
        await expectNotValid(await reset(wrong))
      await expectNotValid(await post('verify-email', { token: await requestReset(email) }))
      expect((await login(email, PASSWORD)).status).toBe(200)
    })

    it('keeps a token whose new password is refused', async () => {
      const { email } = await register()
      const token = await requestReset(email)
      for (const [password, rule] of [
        ['k8#vT2!qLm9', 'minLength'],
        ['Password1234', 'common'],
        [email, 'common'],
      ] as const) {
        const refused = await reset(token, password)
        expect(refused.status).toBe(422)
        expect(await refused.json()).toMatchObject({ errors: [{ field: 'password', rule }] })
      }
      expect((await reset(token)).status).toBe(204)
    })

    it('has no other valid token after a reset or a change of the password', async () => {
      const { email } = await register()
      const [first, second] = [await requestReset(email), await requestReset(email)]
      expect((await reset(first)).status).toBe(204)
      await expectNotValid(await reset(second))

      const browser = management.browser()
      await login(email, NEW_PASSWORD, browser)
      const third = await requestReset(email)
      const change = { currentPassword: NEW_PASSWORD, newPassword: PASSWORD }
      expect((await post('change-password', change, browser)).status).toBe(204)
      await expectNotValid(await reset(third))
      expect(await mailsTo(email, 'password_changed')).toHaveLength(2)
    })

    it('is in two tenants: both have an audit entry, and neither sees the other', async () => {
      const { browser, email, userId } = await register()
      const own = browser.account.projects[0]?.id ?? ''
      const other = await management.register()
      const shared = other.account.projects[0]?.id ?? ''
      await management.db.prisma.projectMember.create({ data: { projectId: shared, userId, role: 'viewer' } })
      expect((await reset(await requestReset(email))).status).toBe(204)
      await login(email, NEW_PASSWORD, browser)
      const entriesOf = async (asker: Browser, projectId: string) => {
        const response = await asker.request(
          'GET',
          `/api/projects/${projectId}/audit-log?operation=resetPassword`,
        )
        return ((await response.json()) as { data?: object[] }).data
      }
      const entry = {
        operation: 'resetPassword',
        actor: { kind: 'user', id: userId, name: email },
        fields: [],
      }
      expect(await entriesOf(browser, own)).toMatchObject([entry])
      expect(await entriesOf(other, shared)).toMatchObject([entry])
      expect((await other.request('GET', `/api/projects/${own}/audit-log`)).status).toBe(404)
      expect(await statusOf(other)).toBe(200)
    })
  })

  describe('whose address is confirmed', () => {
    const verify = (token: string, password = PASSWORD) => post('verify-email', { token, password })

    it('gets an email when it registers, whose token confirms once and for 24 hours', async () => {
      const { browser, email } = await register()
      const token = await deliver(email, 'verify_email')
      try {
        aheadMs = 24 * HOUR_MS + 1_000
        await expectNotValid(await verify(token))
        aheadMs = 24 * HOUR_MS - 30_000
        const answers = await Promise.all([verify(token), verify(token), verify(token)])
        expect(answers.map(({ status }) => status).toSorted()).toEqual([204, 422, 422])
      } finally {
        aheadMs = 0
      }
      await expectNotValid(await verify(token))
      const account = (await (await browser.request('GET', '/api/auth/me')).json()) as AccountView
      expect(account.user.emailVerifiedAt).toEqual(expect.any(String))
      const audit = await browser.request('GET', `/api/projects/${account.projects[0]?.id}/audit-log`)
      expect(await audit.json()).toMatchObject({
        data: [{ operation: 'verifyEmail' }, { operation: 'register' }],
      })
      // A confirmed address gets no further email.
      expect((await post('send-verification', {}, browser)).status).toBe(202)
      expect(await mailsTo(email, 'verify_email')).toEqual([])
    })

    it('was registered by someone else: the one who gets the email does not confirm what they set up', async () => {
      const { browser, email, userId } = await register()
      const token = await deliver(email, 'verify_email')
      const stranger = await management.register()
      for (const other of [management.browser(), stranger]) {
        const refused = await post('verify-email', { token }, other)
        expect(refused.status).toBe(403)
        expect(await refused.json()).toMatchObject({ code: 'password_required' })
      }
      const wrong = await verify(token, `${PASSWORD}!`)
      expect(wrong.status).toBe(422)
      expect(await wrong.json()).toMatchObject({ errors: [{ field: 'password', rule: 'mismatch' }] })
      const user = () => management.db.prisma.user.findUniqueOrThrow({ where: { id: userId } })
      expect((await user()).emailVerifiedAt).toBeNull()
      // With the session of the account no password is needed.
      expect((await post('verify-email', { token }, browser)).status).toBe(204)
      expect((await user()).emailVerifiedAt).toEqual(expect.any(Date))
    })

    it('can ask for another email', async () => {
      const { browser, email } = await register()
      expect((await post('send-verification', {}, browser)).status).toBe(202)
      expect(await mailsTo(email, 'verify_email')).toHaveLength(2)
      expect((await verify(await deliver(email, 'verify_email'))).status).toBe(204)
      expect((await post('send-verification', {})).status).toBe(401)
    })

    it('gets an email when it accepts an invitation', async () => {
      const { browser } = await register()
      const projectId = browser.account.projects[0]?.id
      const email = `${randomUUID()}@example.com`
      const invited = await browser.request('POST', `/api/projects/${projectId}/invitations`, {
        email,
        role: 'viewer',
      })
      const { token } = (await invited.json()) as { token: string }
      const accepted = await post('invitations/accept', { token, name: 'Grace', password: PASSWORD })
      expect(accepted.status).toBe(200)
      expect(await mailsTo(email, 'verify_email')).toHaveLength(1)
    })
  })

  it('is notified of at most 5 changed passwords per hour', async () => {
    const { browser, email } = await register()
    const passwords = [PASSWORD, ...Array.from({ length: 6 }, (_, n) => `${NEW_PASSWORD} ${n}`)]
    for (const [index, newPassword] of passwords.slice(1).entries()) {
      const change = { currentPassword: passwords[index], newPassword }
      expect((await post('change-password', change, browser)).status).toBe(204)
    }
    expect(await mailsTo(email, 'password_changed')).toHaveLength(5)
  })

  it('has its emails deleted when their links have expired', async () => {
    const { email } = await register()
    const forgetIn = (ms: number) =>
      forgetExpired({ db: management.db, clock: () => Date.now() + ms }).run(new AbortController().signal)
    await forgetIn(47 * HOUR_MS)
    expect(await mailsTo(email, 'verify_email')).toHaveLength(1)
    await forgetIn(49 * HOUR_MS)
    expect(await mailsTo(email, 'verify_email')).toEqual([])
  })
})

describe.skipIf(!services)('a request for a password reset', () => {
  let management: Management
  const touched: string[] = []

  beforeAll(async () => {
    management = await startManagement({
      trustedProxies: 1,
      env: { LIMIT_ACCOUNT_MAILS_PER_HOUR: '', LIMIT_SIGN_IN_FAILURES: '' },
      adapt: (platform) => ({
        ...platform,
        db: {
          ...platform.db,
          pool: noteCalls(touched, platform.db.pool, 'pool'),
          prisma: noteCalls(touched, platform.db.prisma, 'prisma'),
        },
      }),
      arrange: (service) => ({ ...service, loops: [] }),
    })
  })
  afterAll(() => management?.stop())

  const forgot = (email: string, ip: string) =>
    management.browser().request('POST', '/api/auth/forgot-password', { email }, { 'X-Forwarded-For': ip })
  const rowsOf = (recipient: string) => management.db.prisma.accountMail.findMany({ where: { recipient } })
  const answerOf = async (response: Response) => {
    const headers = Object.fromEntries(response.headers)
    for (const name of ['date', 'x-request-id', 'traceparent']) delete headers[name]
    return { status: response.status, body: await response.text(), headers }
  }

  it('has the same answer and does the same work with and without an account', async () => {
    const known = (await management.register()).account.user.email
    await management.db.prisma.accountMail.deleteMany()
    const unknown = `${randomUUID()}@example.com`
    const observe = async (email: string) => {
      touched.length = 0
      const answer = await answerOf(await forgot(email, '192.0.2.1'))
      const [row] = await rowsOf(email)
      return { answer, work: [...touched], row: { ...row, id: '', recipient: '', createdAt: '' } }
    }
    const [withAccount, without] = [await observe(known), await observe(unknown)]
    expect(withAccount.answer.status).toBe(202)
    expect(withAccount.work).toHaveLength(1)
    expect(withAccount).toEqual(without)

    await resolvePasswordResets(management.db)
    expect(await rowsOf(known)).toMatchObject([{ userId: expect.any(String), mailDueAt: expect.any(Date) }])
    expect(await rowsOf(unknown)).toEqual([])
  })

  it('gets at most 5 emails per hour and account, without revealing or limiting it', async () => {
    const owner = await management.register()
    const known = owner.account.user.email
    const queued = async () =>
      (await rowsOf(known)).filter(({ kind, mailDueAt }) => kind === 'reset_password' && mailDueAt !== null)
    for (let count = 0; count < 4; count++)
      expect((await forgot(known, `198.51.${count}.1`)).status).toBe(202)
    await resolvePasswordResets(management.db)
    expect(await queued()).toHaveLength(4)
    for (let count = 4; count < 8; count++)
      expect((await forgot(known.toUpperCase(), `198.51.${count}.1`)).status).toBe(202)
    await resolvePasswordResets(management.db)
    expect(await queued()).toHaveLength(5)
    expect((await forgot(known, '198.51.9.1')).status).toBe(202)
    await resolvePasswordResets(management.db)
    // Requests beyond the limit are not stored, and do not extend it.
    expect((await rowsOf(known)).filter(({ kind }) => kind === 'reset_password')).toHaveLength(5)

    // The owner's own emails have a limit of their own.
    const verification = () => owner.request('POST', '/api/auth/send-verification')
    for (let count = 0; count < 5; count++) expect((await verification()).status).toBe(202)
    const limited = await verification()
    expect(limited.status).toBe(429)
    expect(await limited.json()).toEqual({
      error: 'Too many emails were requested',
      retryAfterSeconds: expect.any(Number),
    })

    await management.db.prisma.accountMail.updateMany({
      where: { recipient: known, kind: 'reset_password' },
      data: { createdAt: new Date(Date.now() - HOUR_MS - 1_000) },
    })
    expect((await forgot(known, '198.51.9.2')).status).toBe(202)
    await resolvePasswordResets(management.db)
    expect(await queued()).toHaveLength(6)
  })

  it('is limited to 20 per hour and client address', async () => {
    const ask = (ip: string) => forgot(`${randomUUID()}@example.com`, ip)
    for (let count = 0; count < 20; count++) expect((await ask('192.0.2.9')).status).toBe(202)
    expect((await ask('192.0.2.9')).status).toBe(429)
    expect((await ask('192.0.2.10')).status).toBe(202)
  })

  it('frees an account from the failed sign-ins of the address that resets it', async () => {
    const { email } = (await management.register()).account.user
    const ip = { 'X-Forwarded-For': '192.0.2.20' }
    const send = (path: string, body: object) =>
      management.browser().request('POST', `/api/auth/${path}`, body, ip)
    for (let count = 0; count < 5; count++)
      expect((await send('login', { email, password: `wrong ${count}` })).status).toBe(401)
    expect((await send('login', { email, password: PASSWORD })).status).toBe(429)
    await forgot(email, '192.0.2.20')
    await resolvePasswordResets(management.db)
    const { token, hash } = generateToken()
    await management.db.prisma.accountMail.updateMany({
      where: { recipient: email, kind: 'reset_password' },
      data: { tokenHash: new Uint8Array(hash), tokenExpiresAt: new Date(Date.now() + HOUR_MS) },
    })
    expect((await send('reset-password', { token, password: NEW_PASSWORD })).status).toBe(204)
    expect((await send('login', { email, password: NEW_PASSWORD })).status).toBe(200)
  })
})
