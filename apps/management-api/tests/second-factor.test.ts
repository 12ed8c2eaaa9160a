import { randomUUID } from 'node:crypto'
import type { AccountView } from '@waymark/contracts/http/account-parts'
import { RECOVERY_CODES } from '@waymark/contracts/http/second-factor'
import { eventually, services } from '@waymark/testing'
import { generate } from 'otplib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { forgetExpired } from '../src/accounts/session-queries.ts'
import { noteCalls } from './note-calls.ts'
import { type Browser, type Management, PASSWORD, startManagement } from './start-management.ts'

const MINUTE_MS = 60_000
const STEP_MS = 30_000
const WRONG = { error: 'The code is wrong, was used or has expired' }
const EXPIRED = { error: expect.stringContaining('password again'), code: 'sign_in_expired' }
const REAUTHENTICATE = { code: 'reauthentication_required' }

/** The code that an authenticator app shows at a time. */
const codeAt = (secret: string, ms: number): Promise<string> =>
  generate({ secret, epoch: Math.floor(ms / 1000) })

/** The code of some steps away from a time, or of one more if it equals, by chance, one that is accepted at that time. */
const wrongCodeAt = async (secret: string, ms: number, steps: number): Promise<string> => {
  const accepted = await Promise.all([-1, 0, 1].map((step) => codeAt(secret, ms + step * STEP_MS)))
  const code = await codeAt(secret, ms + steps * STEP_MS)
  return accepted.includes(code) ? wrongCodeAt(secret, ms, steps + Math.sign(steps)) : code
}

describe.skipIf(!services)('a second factor', () => {
  let management: Management
  // A code is accepted once, so that every code needs a time step of its own.
  let aheadMs = 0
  const touched: string[] = []

  beforeAll(async () => {
    management = await startManagement({
      adapt: (platform) => ({
        ...platform,
        clock: () => Date.now() + aheadMs,
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

  const now = () => Date.now() + aheadMs
  /** Moves the clock to the beginning of a step, so that none ends between making a code and its check. */
  const beginStep = (): void => {
    aheadMs += STEP_MS - (now() % STEP_MS)
  }
  const newCode = (secret: string): Promise<string> => {
    aheadMs += STEP_MS
    return codeAt(secret, now())
  }
  const post = (browser: Browser, path: string, body?: object) =>
    browser.request('POST', `/api/auth/${path}`, body)
  const login = (browser: Browser, email: string, password = PASSWORD) =>
    post(browser, 'login', { email, password })
  const complete = (browser: Browser, body: object) => post(browser, 'login/second-factor', body)
  const statusOf = async (browser: Browser) => (await browser.request('GET', '/api/auth/me')).status
  const expectRefused = async (response: Promise<Response>, status: number, body: object) => {
    const answer = await response
    expect([answer.status, await answer.json()]).toMatchObject([status, body])
  }
  const reauthenticate = async (browser: Browser, body: object = { password: PASSWORD }) => {
    expect((await post(browser, 'reauthenticate', body)).status).toBe(204)
  }
  const register = async () => {
    const browser = await management.register()
    const { user, projects, tenant } = browser.account
    return {
      browser,
      email: user.email,
      userId: user.id,
      projectId: projects[0]?.id ?? '',
      tenantId: tenant?.id ?? '',
    }
  }
  const setUp = async (browser: Browser) => {
    const started = await post(browser, 'second-factor')
    expect(started.status).toBe(201)
    const { secret } = (await started.json()) as { secret: string }
    const confirmed = await post(browser, 'second-factor/confirm', { code: await newCode(secret) })
    expect(confirmed.status).toBe(200)
    const { recoveryCodes } = (await confirmed.json()) as { recoveryCodes: string[] }
    return { secret, recoveryCodes }
  }
  const registerWithFactor = async () => {
    const user = await register()
    return { ...user, ...(await setUp(user.browser)) }
  }
  /** A browser in which the password was right. */
  const challenged = async (email: string): Promise<Browser> => {
    const browser = management.browser()
    expect((await login(browser, email)).status).toBe(202)
    return browser
  }
  /** The same for several browsers, one after another, because few passwords are checked at once. */
  const challengedInTurn = async (email: string, count: number): Promise<Browser[]> => {
    const browsers: Browser[] = []
    while (browsers.length < count) browsers.push(await challenged(email))
    return browsers
  }
  /** A new member without a tenant of their own. */
  const invited = async (inviter: Browser, projectId: string, role: string) => {
    const email = `${randomUUID()}@example.com`
    const invitation = await inviter.request('POST', `/api/projects/${projectId}/invitations`, {
      email,
      role,
    })
    const { token } = (await invitation.json()) as { token: string }
    const browser = management.browser()
    const accepted = await post(browser, 'invitations/accept', { token, name: 'Grace', password: PASSWORD })
    return { browser, email, userId: ((await accepted.json()) as AccountView).user.id }
  }
  const mailsTo = (recipient: string, kind: string) =>
    management.db.prisma.accountMail.count({ where: { recipient, kind } })
  const operationsOf = async (browser: Browser, projectId: string) => {
    const response = await browser.request('GET', `/api/projects/${projectId}/audit-log`)
    const { data } = (await response.json()) as { data: { operation: string; fields: string[] }[] }
    return data.map(({ operation, fields }) => [operation, ...fields].join(' '))
  }

  describe('that is set up', () => {
    it('has a secret as text, URI and QR code, ten recovery codes, a notice and audit entries', async () => {
      const { browser, email, userId, projectId } = await register()
      const phone = management.browser()
      await login(phone, email)
      const started = await post(browser, 'second-factor')
      const { secret, uri, qrCode } = (await started.json()) as Record<string, string>
      expect(secret).toMatch(/^[A-Z2-7]{32}$/)
      expect(uri).toBe(`otpauth://totp/Waymark:${encodeURIComponent(email)}?secret=${secret}&issuer=Waymark`)
      expect(
        Buffer.from(`${qrCode}`.replace('data:image/svg+xml;base64,', ''), 'base64').toString(),
      ).toContain('<svg')
      // It does not count yet.
      const again = management.browser()
      expect((await login(again, email)).status).toBe(200)

      const wrong = { errors: [{ field: 'code', rule: 'mismatch' }] }
      const now = Date.now() + aheadMs
      for (const code of ['', 'abcdef', await wrongCodeAt(`${secret}`, now, -10)])
        await expectRefused(post(browser, 'second-factor/confirm', { code }), 422, wrong)
      const confirmed = await post(browser, 'second-factor/confirm', { code: await newCode(`${secret}`) })
      const { recoveryCodes } = (await confirmed.json()) as { recoveryCodes: string[] }
      expect(new Set(recoveryCodes).size).toBe(RECOVERY_CODES)
      for (const code of recoveryCodes) expect(code).toMatch(/^([A-HJ-NP-Z2-9]{5}-){3}[A-HJ-NP-Z2-9]{5}$/)
      expect([await statusOf(browser), await statusOf(phone), await statusOf(again)]).toEqual([200, 401, 401])
      expect(await mailsTo(email, 'second_factor_added')).toBe(1)
      const view = await browser.request('GET', '/api/auth/second-factor')
      expect(await view.json()).toEqual({
        setUpAt: expect.any(String),
        recoveryCodesLeft: RECOVERY_CODES,
        requiredBy: [],
      })
      expect((await operationsOf(browser, projectId)).slice(0, 3)).toEqual([
        'confirmSecondFactor',
        'login',
        'startSecondFactor',
      ])
      const { rows } = await management.db.pool.query(
        'SELECT code_hash FROM core.recovery_codes WHERE user_id = $1',
        [userId],
      )
      expect(rows).toHaveLength(RECOVERY_CODES)
    })

    it('needs a set-up that was started, and a user who has proved recently who they are', async () => {
      const { browser } = await register()
      await expectRefused(post(browser, 'second-factor/confirm', { code: '123456' }), 422, {
        errors: [{ field: 'code', rule: 'not_started' }],
      })
      aheadMs += 10 * MINUTE_MS
      for (const path of ['second-factor', 'second-factor/confirm', 'second-factor/recovery-codes'])
        await expectRefused(post(browser, path, path.endsWith('confirm') ? { code: '1' } : undefined), 403, {
          ...REAUTHENTICATE,
          method: 'password',
        })
      await expectRefused(browser.request('DELETE', '/api/auth/second-factor'), 403, REAUTHENTICATE)
    })

    it('replaces the one of a lost phone, with new recovery codes', async () => {
      const { browser, email, secret, recoveryCodes } = await registerWithFactor()
      const replaced = await setUp(browser)
      expect(replaced.secret).not.toBe(secret)
      const other = await challenged(email)
      await expectRefused(complete(other, { code: await newCode(secret) }), 401, WRONG)
      await expectRefused(complete(other, { recoveryCode: recoveryCodes[0] }), 401, WRONG)
      expect((await complete(other, { code: await newCode(replaced.secret) })).status).toBe(200)
    })

    it('is removed by its user, with a notice', async () => {
      const { browser, email, recoveryCodes } = await registerWithFactor()
      const phone = await challenged(email)
      expect((await browser.request('DELETE', '/api/auth/second-factor')).status).toBe(204)
      expect(await mailsTo(email, 'second_factor_removed')).toBe(1)
      await expectRefused(complete(phone, { recoveryCode: recoveryCodes[0] }), 401, EXPIRED)
      expect((await login(phone, email)).status).toBe(200)
      await expectRefused(post(browser, 'second-factor/recovery-codes'), 422, {
        errors: [{ rule: 'no_second_factor' }],
      })
    })
  })

  describe('at a sign-in', () => {
    it('is requested after the password, in the same browser, and starts the session', async () => {
      const { browser: first, email, secret, projectId } = await registerWithFactor()
      const browser = management.browser()
      const answer = await login(browser, email.toUpperCase())
      expect(answer.status).toBe(202)
      expect(await answer.json()).toEqual({
        secondFactor: ['code', 'recoveryCode'],
        expiresAt: expect.any(String),
      })
      const [cookie, ...others] = answer.headers.getSetCookie()
      expect(cookie).toMatch(/^waymark_challenge=[\w-]{43}; Max-Age=300; Path=\/; HttpOnly; SameSite=Strict$/)
      expect(others).toEqual([])
      expect(await statusOf(browser)).toBe(401)
      const finished = await complete(browser, { code: await newCode(secret) })
      expect(finished.status).toBe(200)
      expect(((await finished.json()) as AccountView).user).toMatchObject({ email, hasSecondFactor: true })
      const cookies = finished.headers.getSetCookie().join()
      expect(cookies).toMatch(/waymark_session=[\w-]{43};/)
      expect(cookies).toMatch(/waymark_challenge=;/)
      expect((await operationsOf(first, projectId))[0]).toBe('completeLogin code')
      // The password is the same as before, and the session counts as a recent sign-in.
      expect(await statusOf(first)).toBe(200)
    })

    it('accepts each code once: again, at once, in other sign-ins, and not an earlier one', async () => {
      const { email, secret, browser } = await registerWithFactor()
      // Before the codes, because they take longer than a code counts.
      const waiting = await challengedInTurn(email, 20)
      const earlier = await newCode(secret)
      const code = await newCode(secret)
      const answers = await Promise.all(waiting.map((one) => complete(one, { code })))
      expect(answers.map(({ status }) => status).toSorted()).toEqual([200, ...Array(19).fill(401)])
      const fresh = await challenged(email)
      await expectRefused(complete(fresh, { code }), 401, WRONG)
      await expectRefused(complete(fresh, { code: earlier }), 401, WRONG)
      await expectRefused(post(browser, 'reauthenticate', { code }), 422, {
        errors: [{ field: 'code', rule: 'mismatch' }],
      })
      expect((await complete(fresh, { code: await newCode(secret) })).status).toBe(200)
    })

    it('is asked for when it is set up at the instant of a sign-in with the password', async () => {
      const { browser, email } = await register()
      const started = await post(browser, 'second-factor')
      const code = await newCode(((await started.json()) as { secret: string }).secret)
      const phone = management.browser()
      const areWaiting = async (count: number) => {
        const { rowCount } = await management.db.pool.query(`
          SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`)
        return rowCount === count
      }
      // The set-up waits in the middle of its transaction, and the sign-in for the set-up.
      const answers = await management.db.transaction(async (client) => {
        await client.query('LOCK TABLE core.recovery_codes IN EXCLUSIVE MODE')
        const confirming = post(browser, 'second-factor/confirm', { code })
        await eventually('the set-up waits', () => areWaiting(1))
        const signingIn = login(phone, email)
        await eventually('the sign-in waits', () => areWaiting(2))
        return [confirming, signingIn] as const
      })
      const [confirmed, signedIn] = await Promise.all(answers)
      expect([confirmed.status, signedIn.status]).toEqual([200, 202])
      expect([await statusOf(browser), await statusOf(phone)]).toEqual([200, 401])
    })

    it('accepts a code of the step before and after, and none further away', async () => {
      const { email, secret } = await registerWithFactor()
      aheadMs += 5 * MINUTE_MS
      const browser = await challenged(email)
      const another = await challenged(email)
      const completeWith = async (one: Browser, codeOf: (ms: number) => Promise<string>) => {
        beginStep()
        return complete(one, { code: await codeOf(now()) })
      }
      for (const steps of [-2, 2])
        await expectRefused(
          completeWith(browser, (ms) => wrongCodeAt(secret, ms, steps)),
          401,
          WRONG,
        )
      for (const [one, steps] of [
        [browser, -1],
        [another, 1],
      ] as const)
        expect((await completeWith(one, (ms) => codeAt(secret, ms + steps * STEP_MS))).status).toBe(200)
    })

    it('accepts a recovery code once, of 20 concurrent uses, and notifies the user', async () => {
      const { browser, email, projectId, recoveryCodes } = await registerWithFactor()
      const [recoveryCode = ''] = recoveryCodes
      const waiting = await challengedInTurn(email, 20)
      const answers = await Promise.all(waiting.map((one) => complete(one, { recoveryCode })))
      expect(answers.map(({ status }) => status).toSorted()).toEqual([200, ...Array(19).fill(401)])
      expect(await mailsTo(email, 'recovery_code_used')).toBe(1)
      expect((await operationsOf(browser, projectId))[0]).toBe('completeLogin recoveryCode')
      const phone = await challenged(email)
      await expectRefused(complete(phone, { recoveryCode }), 401, WRONG)
      const typed = ` ${recoveryCodes[1]?.toLowerCase().replaceAll('-', ' ')} `
      expect((await complete(phone, { recoveryCode: typed })).status).toBe(200)
      const view = await browser.request('GET', '/api/auth/second-factor')
      expect(await view.json()).toMatchObject({ recoveryCodesLeft: RECOVERY_CODES - 2 })

      const renewed = await post(browser, 'second-factor/recovery-codes')
      const codes = ((await renewed.json()) as { recoveryCodes: string[] }).recoveryCodes
      expect(await mailsTo(email, 'recovery_codes_renewed')).toBe(1)
      const tablet = await challenged(email)
      await expectRefused(complete(tablet, { recoveryCode: recoveryCodes[2] }), 401, WRONG)
      expect((await complete(tablet, { recoveryCode: codes[0] })).status).toBe(200)
    })

    it('finishes one sign-in once, also with ten different codes at once', async () => {
      const { email, recoveryCodes } = await registerWithFactor()
      const browser = await challenged(email)
      const { cookie } = browser
      const copies = recoveryCodes.map(() => Object.assign(management.browser(), { cookie }))
      const answers = await Promise.all(
        copies.map((one, index) => complete(one, { recoveryCode: recoveryCodes[index] })),
      )
      expect(answers.map(({ status }) => status).toSorted()).toEqual([200, ...Array(9).fill(401)])
      // Codes of the others were not used up.
      expect(await mailsTo(email, 'recovery_code_used')).toBe(1)
      await expectRefused(complete(browser, { recoveryCode: recoveryCodes.at(-1) }), 401, EXPIRED)
    })

    it('is refused in another browser, and with codes of another user', async () => {
      const user = await registerWithFactor()
      const stranger = await registerWithFactor()
      const browser = await challenged(user.email)
      await expectRefused(complete(management.browser(), { code: await newCode(user.secret) }), 401, EXPIRED)
      const theirs = await challenged(stranger.email)
      await expectRefused(complete(theirs, { code: await newCode(user.secret) }), 401, WRONG)
      await expectRefused(complete(theirs, { recoveryCode: user.recoveryCodes[0] }), 401, WRONG)
      await expectRefused(complete(browser, { code: await newCode(stranger.secret) }), 401, WRONG)
      expect((await complete(browser, { code: await newCode(user.secret) })).status).toBe(200)
    })

    it('waits 5 minutes, and is then forgotten', async () => {
      const { email, secret, userId } = await registerWithFactor()
      const [early, late] = [await challenged(email), await challenged(email)]
      aheadMs += 5 * MINUTE_MS - STEP_MS - 20_000
      expect((await complete(early, { code: await newCode(secret) })).status).toBe(200)
      aheadMs += 20_000 - STEP_MS
      await expectRefused(complete(late, { code: await newCode(secret) }), 401, EXPIRED)
      await forgetExpired({ db: management.db, clock: now }).run(new AbortController().signal)
      expect(await management.db.prisma.signInChallenge.count({ where: { userId } })).toBe(0)
    })

    it('ends with a change of the password, and does not replace the password', async () => {
      const { browser, email, secret } = await registerWithFactor()
      const waiting = await challenged(email)
      const newPassword = 'quite another 1 than before'
      const change = await post(browser, 'change-password', { currentPassword: PASSWORD, newPassword })
      expect(change.status).toBe(204)
      await expectRefused(complete(waiting, { code: await newCode(secret) }), 401, EXPIRED)
      await expectRefused(complete(management.browser(), { code: await newCode(secret) }), 401, EXPIRED)
      expect((await login(waiting, email, newPassword)).status).toBe(202)
    })

    it('is not revealed by a wrong password: the same answer and work with, without and for no account', async () => {
      const [plain, { email }] = [await register(), await registerWithFactor()]
      const observe = async (address: string) => {
        touched.length = 0
        const answer = await login(management.browser(), address, 'a wrong password 1')
        const headers = Object.fromEntries(answer.headers)
        for (const name of ['date', 'x-request-id', 'traceparent']) delete headers[name]
        return { status: answer.status, body: await answer.text(), headers, work: [...touched] }
      }
      const withFactor = await observe(email)
      expect(withFactor.status).toBe(401)
      expect(await observe(plain.email)).toEqual(withFactor)
      expect(await observe(`${randomUUID()}@example.com`)).toEqual(withFactor)
    })

    it('needs exactly one code', async () => {
      const { email } = await registerWithFactor()
      const browser = await challenged(email)
      for (const body of [{}, { code: '123456', recoveryCode: 'x' }])
        expect((await complete(browser, body)).status).toBe(422)
    })
  })

  describe('that a tenant requires', () => {
    const require = (browser: Browser, tenantId: string, requiresSecondFactor = true) =>
      browser.request('PATCH', `/api/tenant/profile?tenantId=${tenantId}`, { requiresSecondFactor })
    const CLOSED = { code: 'second_factor_required' }

    it('closes its projects to members without one, and no other tenant of theirs', async () => {
      const owner = await registerWithFactor()
      const { projectId, tenantId } = owner
      const member = await management.member(projectId, 'admin')
      const { projects } = (await (await member.request('GET', '/api/auth/me')).json()) as AccountView
      const ownProject = projects.find(({ id }) => id !== projectId)?.id ?? ''
      const token = (await (
        await post(member, 'access-tokens', {
          name: 'A script',
          projectIds: null,
          expiresAt: new Date(now() + 3_600_000).toISOString(),
        })
      ).json()) as { token: string }
      const key = await management.key(projectId)
      expect((await require(owner.browser, tenantId)).status).toBe(200)

      const read = (id: string) => member.request('GET', `/api/projects/${id}`)
      await expectRefused(read(projectId), 403, CLOSED)
      await expectRefused(member.request('GET', `/api/projects/${projectId}/api-keys`), 403, CLOSED)
      await expectRefused(member.request('GET', `/api/admin/users?projectId=${projectId}`), 403, CLOSED)
      await expectRefused(member.request('GET', `/api/tenant/profile?tenantId=${tenantId}`), 403, CLOSED)
      const byToken = fetch(`${management.url}/api/projects/${projectId}`, {
        headers: { Authorization: `Bearer ${token.token}` },
      })
      await expectRefused(byToken, 403, CLOSED)
      const users = await (await member.request('GET', '/api/admin/users')).text()
      expect(users).not.toContain(owner.email)
      // What is not of the tenant stays open, and a key is no member.
      expect((await read(ownProject)).status).toBe(200)
      const byKey = await fetch(`${management.url}/api/projects/${projectId}`, {
        headers: { 'X-API-Key': key },
      })
      expect(byKey.status).toBe(200)
      const me = await member.request('GET', '/api/auth/me')
      expect(await me.json()).toMatchObject({ closedProjectIds: [projectId] })
      const view = await member.request('GET', '/api/auth/second-factor')
      expect(await view.json()).toMatchObject({ setUpAt: null, requiredBy: [{ id: tenantId }] })

      await setUp(member)
      expect((await read(projectId)).status).toBe(200)
      const opened = await member.request('GET', '/api/auth/me')
      expect(await opened.json()).toMatchObject({ closedProjectIds: [] })
      await expectRefused(member.request('DELETE', '/api/auth/second-factor'), 422, {
        errors: [{ rule: 'required' }],
      })
      const members = await owner.browser.request('GET', `/api/projects/${projectId}/members`)
      expect(((await members.json()) as { data: { hasSecondFactor: boolean }[] }).data).toMatchObject([
        { hasSecondFactor: true },
        { hasSecondFactor: true },
      ])
      expect((await require(owner.browser, tenantId, false)).status).toBe(200)
      expect((await member.request('DELETE', '/api/auth/second-factor')).status).toBe(204)
      expect((await operationsOf(owner.browser, projectId))[0]).toBe('removeSecondFactor')
    })

    it('is set by an owner who has one, recently, and by no access token', async () => {
      const { browser, tenantId, projectId } = await register()
      await expectRefused(require(browser, tenantId), 422, {
        errors: [{ field: 'requiresSecondFactor', rule: 'own_second_factor' }],
      })
      const admin = await management.member(projectId, 'admin')
      await setUp(admin)
      await expectRefused(require(admin, tenantId), 403, { requiredRole: 'owner' })
      await setUp(browser)
      aheadMs += 10 * MINUTE_MS
      await expectRefused(require(browser, tenantId), 403, { ...REAUTHENTICATE, method: 'code' })
      expect((await browser.request('PATCH', '/api/tenant/profile', { name: 'Shop' })).status).toBe(200)
    })
  })

  describe('that a member has lost', () => {
    const reset = (browser: Browser, projectId: string, id: string) =>
      browser.request('DELETE', `/api/projects/${projectId}/members/${id}/second-factor`)

    it('is removed by an owner, and the member signs in with the password', async () => {
      const { browser, projectId } = await register()
      const member = await invited(browser, projectId, 'editor')
      await setUp(member.browser)
      const waiting = await challenged(member.email)
      expect((await reset(browser, projectId, member.userId)).status).toBe(204)
      expect(await statusOf(member.browser)).toBe(401)
      await expectRefused(complete(waiting, { code: '123456' }), 401, EXPIRED)
      expect((await login(member.browser, member.email)).status).toBe(200)
      expect(await mailsTo(member.email, 'second_factor_removed')).toBe(1)
      expect(await operationsOf(browser, projectId)).toContain('resetSecondFactor')
      const again = await reset(browser, projectId, member.userId)
      expect([again.status, await mailsTo(member.email, 'second_factor_removed')]).toEqual([204, 1])
    })

    it('stays when it also protects another tenant, and is out of reach of admins and strangers', async () => {
      const { browser, projectId, userId } = await register()
      const shared = await management.member(projectId, 'editor')
      await setUp(shared)
      await expectRefused(reset(browser, projectId, shared.userId), 422, {
        errors: [{ rule: 'other_tenant' }],
      })
      await expectRefused(reset(browser, projectId, userId), 422, { errors: [{ rule: 'own_second_factor' }] })
      expect((await login(management.browser(), shared.email)).status).toBe(202)
      const member = await invited(browser, projectId, 'viewer')
      const admin = await invited(browser, projectId, 'admin')
      const stranger = await register()
      expect((await reset(admin.browser, projectId, member.userId)).status).toBe(403)
      expect((await reset(stranger.browser, projectId, member.userId)).status).toBe(404)
      expect((await reset(stranger.browser, stranger.projectId, member.userId)).status).toBe(404)
      aheadMs += 10 * MINUTE_MS
      await expectRefused(reset(browser, projectId, member.userId), 403, REAUTHENTICATE)
    })
  })

  describe('or the password, requested again', () => {
    const projectOf = async (browser: Browser) =>
      ((await (await browser.request('POST', '/api/projects', { name: 'Short' })).json()) as { id: string })
        .id
    const archive = (browser: Browser, id: string) => browser.request('DELETE', `/api/projects/${id}`)

    it('is needed 10 minutes after the sign-in, and counts for 10 minutes', async () => {
      const { browser, projectId } = await register()
      const [early, late] = [await projectOf(browser), await projectOf(browser)]
      aheadMs += 10 * MINUTE_MS - 30_000
      expect((await archive(browser, early)).status).toBe(204)
      aheadMs += 30_000
      await expectRefused(archive(browser, late), 403, { ...REAUTHENTICATE, method: 'password' })
      await expectRefused(post(browser, 'reauthenticate', { password: 'wrong' }), 422, {
        errors: [{ field: 'password', rule: 'mismatch' }],
      })
      await expectRefused(archive(browser, late), 403, REAUTHENTICATE)
      await reauthenticate(browser)
      expect((await operationsOf(browser, projectId))[0]).toBe('reauthenticate password')
      // In this browser only.
      const phone = management.browser()
      await login(phone, browser.account.user.email)
      aheadMs += 10 * MINUTE_MS - 30_000
      expect((await archive(browser, late)).status).toBe(204)
      aheadMs += 30_000
      await expectRefused(archive(phone, projectId), 403, REAUTHENTICATE)
    })

    it('is the code and not the password with a second factor', async () => {
      const { browser, projectId, secret, recoveryCodes } = await registerWithFactor()
      aheadMs += 10 * MINUTE_MS
      await expectRefused(archive(browser, projectId), 403, { ...REAUTHENTICATE, method: 'code' })
      await expectRefused(post(browser, 'reauthenticate', { password: PASSWORD }), 422, {
        errors: [{ field: 'password', rule: 'second_factor' }],
      })
      const code = await newCode(secret)
      await reauthenticate(browser, { code })
      await expectRefused(post(browser, 'reauthenticate', { code }), 422, { errors: [{ field: 'code' }] })
      await reauthenticate(browser, { recoveryCode: recoveryCodes[0] })
      await expectRefused(post(browser, 'reauthenticate', { recoveryCode: recoveryCodes[0] }), 422, {
        errors: [{ field: 'recoveryCode' }],
      })
      expect((await archive(browser, projectId)).status).toBe(204)
    })

    it('is needed to give a stronger role, and not for a weaker one', async () => {
      const { browser, projectId } = await register()
      const member = await management.member(projectId, 'viewer')
      const path = `/api/projects/${projectId}`
      aheadMs += 10 * MINUTE_MS
      const change = (role: string) => browser.request('PATCH', `${path}/members/${member.userId}`, { role })
      const invite = (role: string) =>
        browser.request('POST', `${path}/invitations`, { email: `${randomUUID()}@example.com`, role })
      await expectRefused(change('editor'), 403, REAUTHENTICATE)
      await expectRefused(change('owner'), 403, REAUTHENTICATE)
      await expectRefused(invite('viewer'), 403, REAUTHENTICATE)
      await reauthenticate(browser)
      expect([(await change('editor')).status, (await invite('owner')).status]).toEqual([200, 201])
      aheadMs += 10 * MINUTE_MS
      expect((await change('viewer')).status).toBe(200)
      await reauthenticate(browser)
      expect((await change('owner')).status).toBe(200)
      aheadMs += 10 * MINUTE_MS
      await expectRefused(change('admin'), 403, REAUTHENTICATE)
      await expectRefused(browser.request('DELETE', `${path}/members/${member.userId}`), 403, REAUTHENTICATE)
      await expectRefused(member.request('DELETE', `${path}/members/me`), 403, REAUTHENTICATE)
      await reauthenticate(member)
      expect((await member.request('DELETE', `${path}/members/me`)).status).toBe(204)
    })

    it('is needed for what deletes or gives away data by another way', async () => {
      const { browser, projectId } = await register()
      const path = `/api/projects/${projectId}`
      const url = 'https://shop.example/hook'
      const created = await browser.request('POST', `${path}/webhooks`, { url, topics: ['event'] })
      const { id } = (await created.json()) as { id: string }
      const key = await browser.request('POST', `${path}/api-keys`, {
        name: 'A server',
        kind: 'sec',
        scopes: ['decide'],
      })
      const { id: keyId } = (await key.json()) as { id: string }
      aheadMs += 10 * MINUTE_MS
      const change = (what: string, body: object) => browser.request('PATCH', `${path}/${what}`, body)
      await expectRefused(change('settings', { retentionDays: 1 }), 403, REAUTHENTICATE)
      await expectRefused(change('settings', { archiveEvents: true }), 403, REAUTHENTICATE)
      await expectRefused(change(`webhooks/${id}`, { url: `${url}/2` }), 403, REAUTHENTICATE)
      await expectRefused(change(`api-keys/${keyId}`, { scopes: ['manage:admin'] }), 403, REAUTHENTICATE)
      expect(await (await browser.request('GET', `${path}/settings`)).json()).toEqual({})
      expect((await change('settings', { ipStorage: 'drop' })).status).toBe(200)
      expect((await change(`webhooks/${id}`, { url, status: 'paused' })).status).toBe(200)
      expect((await change(`api-keys/${keyId}`, { name: 'Another' })).status).toBe(200)
      await reauthenticate(browser)
      expect((await change('settings', { retentionDays: 30 })).status).toBe(200)
      aheadMs += 10 * MINUTE_MS
      expect((await change('settings', { retentionDays: 40 })).status).toBe(200)
      await expectRefused(change('settings', { retentionDays: 30 }), 403, REAUTHENTICATE)
    })

    it('is needed to erase a person, by an API key not, and no access token does any of it', async () => {
      const { browser, projectId } = await register()
      const key = await management.key(projectId)
      const other = await projectOf(browser)
      const created = await post(browser, 'access-tokens', {
        name: 'A script',
        projectIds: null,
        expiresAt: new Date(now() + 86_400_000).toISOString(),
      })
      const { token } = (await created.json()) as { token: string }
      const as = (headers: Record<string, string>, method: string, url: string) =>
        fetch(`${management.url}${url}`, { method, headers })
      const person = `/api/projects/${projectId}/profiles/${randomUUID()}`
      const byToken = { Authorization: `Bearer ${token}` }
      const refused = { error: expect.stringContaining('access token') }
      await expectRefused(as(byToken, 'DELETE', person), 403, refused)
      await expectRefused(as(byToken, 'DELETE', `/api/projects/${other}`), 403, refused)
      await expectRefused(as(byToken, 'POST', '/api/auth/reauthenticate'), 403, refused)
      await management.member(projectId, 'owner')
      await expectRefused(as(byToken, 'DELETE', `/api/projects/${projectId}/members/me`), 403, refused)
      expect((await browser.request('DELETE', person)).status).toBe(404)
      aheadMs += 10 * MINUTE_MS
      await expectRefused(browser.request('DELETE', person), 403, REAUTHENTICATE)
      expect((await as({ 'X-API-Key': key }, 'DELETE', person)).status).toBe(404)
    })
  })
})

describe.skipIf(!services)('guesses of a code', () => {
  let management: Management
  beforeAll(async () => {
    management = await startManagement({ trustedProxies: 1, env: { LIMIT_SIGN_IN_FAILURES: '' } })
  })
  afterAll(() => management?.stop())

  it('are limited to 5 in 15 minutes for an account, from all addresses and sign-ins', async () => {
    const browser = await management.register()
    const { email } = browser.account.user
    const started = await browser.request('POST', '/api/auth/second-factor')
    const { secret } = (await started.json()) as { secret: string }
    const code = await codeAt(secret, Date.now())
    expect((await browser.request('POST', '/api/auth/second-factor/confirm', { code })).status).toBe(200)
    const wrong = await wrongCodeAt(secret, Date.now(), -10)
    const guess = async (ip: string, body: object = { code: wrong }) => {
      const from = { 'X-Forwarded-For': ip }
      const one = management.browser()
      const challenge = await one.request('POST', '/api/auth/login', { email, password: PASSWORD }, from)
      expect(challenge.status).toBe(202)
      return one.request('POST', '/api/auth/login/second-factor', body, from)
    }
    for (let count = 0; count < 5; count++) expect((await guess(`198.51.${count}.1`)).status).toBe(401)
    const limited = await guess('198.51.9.1', { code: await codeAt(secret, Date.now() + STEP_MS) })
    expect(limited.status).toBe(429)
    expect(await limited.json()).toEqual({
      error: 'Too many attempts',
      retryAfterSeconds: expect.any(Number),
    })
    const here = await browser.request('POST', '/api/auth/reauthenticate', { code: wrong })
    expect(here.status).toBe(429)
    expect((await browser.request('GET', '/api/auth/me')).status).toBe(200)
  })
})
