import { randomUUID } from 'node:crypto'
import { createJar, type Jar, services, startProvider, type TestProvider } from '@waymark/testing'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { SIGN_IN_MS } from '../src/oidc/pending-sign-in-queries.ts'
import { type OidcWorld, startOidcWorld } from './oidc-world.ts'
import { PASSWORD } from './start-management.ts'

const failure = (reason: string) => ({ status: 303, location: `/console/sign-in?failure=${reason}` })
const linkFailure = (reason: string) => ({ status: 303, location: `/console/link-failed?failure=${reason}` })
const DONE = { status: 303, location: '/console/signed-in' }

describe.skipIf(!services)('a sign-in with a provider', () => {
  let world: OidcWorld
  let idp: TestProvider

  beforeAll(async () => {
    world = await startOidcWorld()
    idp = await startProvider()
  })
  afterAll(async () => {
    await idp?.stop()
    await world?.stop()
  })
  beforeEach(() => {
    world.state.aheadMs = 0
    idp.hangs = false
  })

  /** A tenant with a verified domain and a provider, whose users become viewers and those of `eng` editors. */
  const company = async () => {
    const owner = await world.owner()
    const domain = `${randomUUID()}.example`
    await world.verifyDomain(owner, domain)
    const { projectId } = owner
    const provider = await world.addProvider(owner, idp, [
      { projectId, group: null, role: 'viewer' },
      { projectId, group: 'eng', role: 'editor' },
    ])
    return { owner, domain, projectId, providerId: provider.id }
  }
  /** Registers a user at the provider, who signs in next. */
  const user = (email: string, change: object = {}): string => {
    const subject = randomUUID()
    idp.accounts.set(subject, { email, email_verified: true, name: 'Grace', ...change })
    idp.signsIn = subject
    return subject
  }
  const signedIn = async (jar: Jar) => world.statusOf(jar, 'GET', '/api/auth/me')
  const rolesOf = async (projectId: string, userId: string) =>
    (await world.db.prisma.projectMember.findFirst({ where: { projectId, userId } }))?.role
  const userByEmail = (email: string) => world.db.prisma.user.findUnique({ where: { email } })

  describe('of a new user', () => {
    it('creates an account with the role of the groups, and opens the requested page', async () => {
      const { domain, projectId, providerId } = await company()
      const subject = user(`Grace@${domain}`, { groups: ['eng', 'other'] })
      const jar = createJar()
      const start = await world.start(jar, providerId, '/p/1/home?x=1')
      const { searchParams } = new URL(start)
      expect(searchParams.get('code_challenge_method')).toBe('S256')
      for (const name of ['state', 'nonce', 'code_challenge'])
        expect(searchParams.get(name)).toMatch(/^[\w-]{43}$/)
      expect(await world.finish(jar, await world.atProvider(jar, start))).toEqual({
        status: 303,
        location: `/console/signed-in?next=${encodeURIComponent('/p/1/home?x=1')}`,
      })
      expect(await world.me(jar)).toMatchObject({
        user: { email: `grace@${domain}`, name: 'Grace', emailVerifiedAt: expect.any(String) },
        projects: [{ id: projectId, role: 'editor' }],
      })
      expect([...jar.cookies(world.url).keys()]).toEqual(['waymark_session'])
      // The second time it is the same account.
      const again = createJar()
      expect(await world.signIn(again, providerId)).toEqual(DONE)
      expect((await world.me(again)).user.id).toBe((await world.me(jar)).user.id)
      const { rows } = await world.db.pool.query('SELECT * FROM core.user_identities WHERE subject = $1', [
        subject,
      ])
      expect(rows).toMatchObject([{ email: `grace@${domain}` }])
    })

    it('needs a verified address', async () => {
      const { domain, providerId } = await company()
      for (const verified of [false, undefined, 'true']) {
        user(`mallory@${domain}`, { email_verified: verified })
        expect(await world.signIn(createJar(), providerId)).toEqual(failure('address_not_verified'))
      }
      expect(await userByEmail(`mallory@${domain}`)).toBeNull()
    })

    it('needs a domain of the tenant, also when the address has an account', async () => {
      const { domain, providerId } = await company()
      const victim = await world.owner()
      for (const email of [victim.email, `x@sub.${domain}`, `x@${domain}.evil.example`, `x@evil${domain}`]) {
        user(email)
        const jar = createJar()
        expect(await world.signIn(jar, providerId)).toEqual(failure('not_a_member'))
        expect(await signedIn(jar)).toBe(401)
      }
    })

    it('needs a domain whose DNS record still exists, and that the same tenant has verified', async () => {
      const { domain, providerId } = await company()
      const other = await company()
      user(`grace@${domain}`)
      expect(await world.signIn(createJar(), other.providerId)).toEqual(failure('not_a_member'))
      world.records.delete(`_waymark.${domain}`)
      expect(await world.signIn(createJar(), providerId)).toEqual(failure('not_a_member'))
      // The record of another tenant does not count.
      const { rows } = await world.db.pool.query('SELECT token FROM core.tenant_domains WHERE domain = $1', [
        other.domain,
      ])
      world.records.set(`_waymark.${domain}`, `waymark-domain=${rows[0].token}`)
      expect(await world.signIn(createJar(), providerId)).toEqual(failure('not_a_member'))
    })

    it('never takes over an account with the same address', async () => {
      const { domain, providerId } = await company()
      const victim = await world.owner(`ada@${domain}`)
      user(`ada@${domain}`)
      const jar = createJar()
      expect(await world.signIn(jar, providerId)).toEqual(failure('link_required'))
      expect(await signedIn(jar)).toBe(401)
      expect(await world.db.prisma.userIdentity.count({ where: { userId: victim.userId } })).toBe(0)
    })

    it('needs a role', async () => {
      const owner = await world.owner()
      const domain = `${randomUUID()}.example`
      await world.verifyDomain(owner, domain)
      const mapping = { projectId: owner.projectId, group: 'eng', role: 'editor' as const }
      const { id } = await world.addProvider(owner, idp, [mapping])
      user(`grace@${domain}`, { groups: ['sales'] })
      expect(await world.signIn(createJar(), id)).toEqual(failure('no_role'))
      expect(await userByEmail(`grace@${domain}`)).toBeNull()
    })

    it('counts as a second factor where the tenant requires one', async () => {
      const { domain, projectId, providerId } = await company()
      await world.db.prisma.tenant.updateMany({
        where: { projects: { some: { id: projectId } } },
        data: { requiresSecondFactor: true },
      })
      user(`grace@${domain}`)
      const jar = createJar()
      expect(await world.signIn(jar, providerId)).toEqual(DONE)
      expect(await world.me(jar)).toMatchObject({
        user: { hasSecondFactor: false },
        projects: [{ id: projectId }],
        closedProjectIds: [],
      })
      expect(await world.statusOf(jar, 'GET', `/api/projects/${projectId}`)).toBe(200)
      expect(await world.statusOf(jar, 'GET', '/api/tenant/profile')).toBe(200)
    })

    it('creates one account when two browsers are first at once', async () => {
      const { domain, providerId } = await company()
      user(`grace@${domain}`)
      const jars = [createJar(), createJar(), createJar()]
      expect(await Promise.all(jars.map((jar) => world.signIn(jar, providerId)))).toEqual([DONE, DONE, DONE])
      expect(await world.db.prisma.user.count({ where: { email: `grace@${domain}` } })).toBe(1)
    })
  })

  describe('that is repeated or moved', () => {
    it('is refused with a used state, and a used code is worth nothing', async () => {
      const { domain, providerId } = await company()
      user(`grace@${domain}`)
      const jar = createJar()
      const callback = await world.atProvider(jar, await world.start(jar, providerId))
      const browser = jar.cookies(world.url).get('waymark_sign_in') ?? ''
      expect(await world.finish(jar, callback)).toEqual(DONE)
      jar.cookies(world.url).set('waymark_sign_in', browser)
      expect(await world.finish(jar, callback)).toEqual(failure('expired'))
      // The code with a fresh state of the same browser.
      const next = new URL(await world.start(jar, providerId))
      const replay = callback.replace(/state=[\w-]+/, `state=${next.searchParams.get('state')}`)
      expect(await world.finish(jar, replay)).toEqual(failure('provider_refused'))
    })

    it('is refused from another browser, which leaves the sign-in of the first one usable', async () => {
      const { domain, providerId } = await company()
      user(`grace@${domain}`)
      const jar = createJar()
      const callback = await world.atProvider(jar, await world.start(jar, providerId))
      const without = createJar()
      expect(await world.finish(without, callback)).toEqual(failure('expired'))
      const other = createJar()
      await world.start(other, providerId)
      expect(await world.finish(other, callback)).toEqual(failure('expired'))
      expect(await signedIn(other)).toBe(401)
      expect(await world.finish(jar, callback)).toEqual(DONE)
    })

    it('is accepted until 10 minutes have passed', async () => {
      const { domain, providerId } = await company()
      user(`grace@${domain}`)
      for (const [aheadMs, expected] of [
        [SIGN_IN_MS - 30_000, DONE],
        [SIGN_IN_MS + 1, failure('expired')],
      ] as const) {
        world.state.aheadMs = 0
        const jar = createJar()
        const callback = await world.atProvider(jar, await world.start(jar, providerId))
        world.state.aheadMs = aheadMs
        expect(await world.finish(jar, callback)).toEqual(expected)
      }
    })

    it('is refused at the callback of another provider, and with the code of another one', async () => {
      const { domain, providerId, owner } = await company()
      const evil = await startProvider()
      const other = await world.addProvider(owner, evil)
      user(`grace@${domain}`)
      const jar = createJar()
      const callback = await world.atProvider(jar, await world.start(jar, providerId))
      expect(await world.finish(jar, callback.replace(providerId, other.id))).toEqual(failure('expired'))
      // A provider that names another issuer in its answer.
      const mixed = callback.replace(/iss=[^&]+/, `iss=${encodeURIComponent(evil.issuer)}`)
      expect(mixed).not.toBe(callback)
      expect(await world.finish(jar, mixed)).toEqual(failure('provider_refused'))
      // A code of the evil provider in a sign-in with the honest one.
      evil.accounts.set('ada', { email: `grace@${domain}`, email_verified: true })
      evil.signsIn = 'ada'
      const evilJar = createJar()
      const evilCallback = await world.atProvider(evilJar, await world.start(evilJar, other.id))
      const code = new URLSearchParams(evilCallback.split('?')[1]).get('code') ?? ''
      const honest = await world.atProvider(jar, await world.start(jar, providerId))
      const injected = honest.replace(/code=[^&]+/, `code=${code}`)
      expect(await world.finish(jar, injected)).toEqual(failure('provider_refused'))
      await evil.stop()
    })

    it('is refused with another nonce or code verifier', async () => {
      const { domain, providerId } = await company()
      user(`grace@${domain}`)
      for (const column of ['nonce', 'code_verifier']) {
        const jar = createJar()
        const callback = await world.atProvider(jar, await world.start(jar, providerId))
        await world.db.pool.query(`UPDATE core.oidc_sign_ins SET ${column} = $1 WHERE provider_id = $2`, [
          'x'.repeat(43),
          providerId,
        ])
        expect(await world.finish(jar, callback)).toEqual(failure('provider_refused'))
        expect(await signedIn(jar)).toBe(401)
      }
    })

    it('shows that the user refused at the provider', async () => {
      const { providerId } = await company()
      idp.signsIn = null
      expect(await world.signIn(createJar(), providerId)).toEqual(failure('denied'))
    })

    it('stores no state, cookie or code', async () => {
      const { domain, providerId } = await company()
      user(`grace@${domain}`)
      const jar = createJar()
      const start = await world.start(jar, providerId)
      const { rows } = await world.db.pool.query('SELECT * FROM core.oidc_sign_ins WHERE provider_id = $1', [
        providerId,
      ])
      expect(rows).toHaveLength(1)
      const stored = JSON.stringify(rows)
      expect(stored).not.toContain(new URL(start).searchParams.get('state'))
      expect(stored).not.toContain(jar.cookies(world.url).get('waymark_sign_in'))
    })
  })

  it.each(['https://evil.example', '//evil.example', '/p/../../evil', '/\\evil.example', '/x'])(
    'does not lead to %s',
    async (next) => {
      const { domain, providerId } = await company()
      user(`grace@${domain}`)
      expect(await world.signIn(createJar(), providerId, next)).toEqual(DONE)
    },
  )

  it('answers malformed callbacks with the sign-in page', async () => {
    const { providerId } = await company()
    for (const path of [
      `/api/auth/oidc/${providerId}/callback`,
      `/api/auth/oidc/${providerId}/callback?state=x&code=y`,
      `/api/auth/oidc/${providerId}/callback?state=${'a'.repeat(43)}&state=b`,
      `/api/auth/oidc/nonsense/callback?state=x`,
      `/api/auth/oidc/${randomUUID()}/callback?error=access_denied`,
    ])
      expect(await world.finish(createJar(), path)).toEqual(failure('expired'))
  })

  describe('of a linked user', () => {
    /** An owner of another tenant who is a member of the company, and has linked its provider. */
    const linked = async (role: 'viewer' | 'owner' = 'viewer') => {
      const one = await company()
      const member = await world.owner()
      await world.db.prisma.projectMember.create({
        data: { projectId: one.projectId, userId: member.userId, role },
      })
      const subject = user(member.email)
      expect(await world.link(member.jar, one.providerId)).toEqual(DONE)
      return { ...one, member, subject }
    }

    it('is announced by email and reaches the projects of the tenant only', async () => {
      const { projectId, providerId, member } = await linked()
      const mails = { where: { recipient: member.email, kind: 'sign_in_method_added' } }
      expect(await world.db.prisma.accountMail.count(mails)).toBe(1)
      const jar = createJar()
      expect(await world.signIn(jar, providerId)).toEqual(DONE)
      const account = await world.me(jar)
      expect(account.user.id).toBe(member.userId)
      expect(account.projects.map(({ id }) => id)).toEqual([projectId])
      expect(account.tenant?.id).not.toBe(member.tenantId)
      // The user's own tenant is missing in every answer.
      expect(await world.statusOf(jar, 'GET', `/api/projects/${member.projectId}`)).toBe(404)
      expect(await world.statusOf(jar, 'GET', `/api/projects/${member.projectId}/events`)).toBe(404)
      expect(
        await world.statusOf(jar, 'PATCH', `/api/tenant/profile?tenantId=${member.tenantId}`, { name: 'x' }),
      ).toBe(404)
      expect(
        await world.statusOf(jar, 'POST', `/api/tenant/oidc-providers?tenantId=${member.tenantId}`, {
          name: 'Evil',
          issuer: idp.issuer,
          clientId: 'x',
        }),
      ).toBe(404)
      expect(await world.statusOf(jar, 'DELETE', `/api/projects/${member.projectId}/members/me`)).toBe(404)
      expect(await world.statusOf(jar, 'POST', '/api/projects', { name: 'x' })).toBe(403)
      expect(
        await world.statusOf(jar, 'POST', '/api/projects', { name: 'x', tenantId: member.tenantId }),
      ).toBe(404)
      const all = await world.json<{ data: { id: string }[] }>(world.call(jar, 'GET', '/api/projects'))
      expect(all.data.map(({ id }) => id)).toEqual([projectId])
      // The password still reaches everything.
      const whole = await world.me(await world.logIn(member.email))
      expect(whole.projects.map(({ id }) => id).toSorted()).toEqual([projectId, member.projectId].toSorted())
    })

    it('cannot change how the user signs in, nor see or end other sessions', async () => {
      const { providerId, member, projectId } = await linked()
      const jar = createJar()
      await world.signIn(jar, providerId)
      const password = { currentPassword: PASSWORD, newPassword: 'another horse, 4 staples' }
      expect(await world.statusOf(jar, 'POST', '/api/auth/change-password', password)).toBe(403)
      expect(await world.statusOf(jar, 'POST', '/api/auth/send-verification')).toBe(403)
      expect(await world.statusOf(jar, 'POST', '/api/auth/identities', { providerId })).toBe(403)
      const sessions = await world.json<{ data: { id: string; current: boolean }[] }>(
        world.call(jar, 'GET', '/api/auth/sessions'),
      )
      expect(sessions.data).toMatchObject([{ current: true }])
      const own = await world.json<{ data: { id: string }[] }>(
        world.call(member.jar, 'GET', '/api/auth/sessions'),
      )
      const foreign = own.data.find(({ id }) => id !== sessions.data[0]?.id)?.id
      expect(await world.statusOf(jar, 'DELETE', `/api/auth/sessions/${foreign}`)).toBe(404)
      expect(await world.statusOf(jar, 'DELETE', '/api/auth/sessions')).toBe(204)
      expect(await signedIn(member.jar)).toBe(200)
      // An access token has the same limits, and ends with the link.
      const expiresAt = new Date(Date.now() + 3_600_000).toISOString()
      const foreignToken = { name: 'x', projectIds: [member.projectId], expiresAt }
      expect(await world.statusOf(jar, 'POST', '/api/auth/access-tokens', foreignToken)).toBe(422)
      const { token } = await world.json<{ token: string }>(
        world.call(jar, 'POST', '/api/auth/access-tokens', { name: 'x', projectIds: null, expiresAt }),
      )
      const byToken = async (path: string) =>
        (await fetch(`${world.url}${path}`, { headers: { Authorization: `Bearer ${token}` } })).status
      expect(await byToken(`/api/projects/${projectId}`)).toBe(200)
      expect(await byToken(`/api/projects/${member.projectId}`)).toBe(404)
      const { data } = await world.json<{ data: { id: string }[] }>(
        world.call(member.jar, 'GET', '/api/auth/identities'),
      )
      expect(await world.statusOf(member.jar, 'DELETE', `/api/auth/identities/${data[0]?.id}`)).toBe(204)
      expect(await byToken(`/api/projects/${projectId}`)).toBe(401)
      expect(await signedIn(jar)).toBe(401)
      expect(await signedIn(member.jar)).toBe(200)
    })

    it('lists the link and what can be linked, in both directions', async () => {
      const { providerId, member, projectId } = await linked()
      const path = '/api/auth/identities'
      const listed = () =>
        world.json<{ data: { id: string }[]; linkable: { id: string }[] }>(
          world.call(member.jar, 'GET', path),
        )
      const before = await listed()
      expect(before).toMatchObject({
        data: [{ providerId, email: member.email, providerName: 'Company' }],
        linkable: [],
      })
      const stranger = await world.owner()
      expect(await world.statusOf(stranger.jar, 'DELETE', `${path}/${before.data[0]?.id}`)).toBe(404)
      expect(await world.statusOf(member.jar, 'DELETE', `${path}/${before.data[0]?.id}`)).toBe(204)
      expect(await listed()).toMatchObject({ data: [], linkable: [{ id: providerId }] })
      const audit = await world.json<{ data: { operation: string }[] }>(
        world.call(member.jar, 'GET', `/api/projects/${member.projectId}/audit-log`),
      )
      expect(audit.data.map(({ operation }) => operation)).toEqual([
        'unlinkIdentity',
        'linkIdentity',
        'register',
      ])
      expect(await rolesOf(projectId, member.userId)).toBe('viewer')
    })
  })

  describe('that links', () => {
    it('needs the address of the account, verified by the provider', async () => {
      const { providerId } = await company()
      const member = await world.owner()
      user('somebody@else.example')
      expect(await world.link(member.jar, providerId)).toEqual(linkFailure('address_differs'))
      const jar = await world.logIn(member.email)
      user(member.email, { email_verified: false })
      expect(await world.link(jar, providerId)).toEqual(linkFailure('address_not_verified'))
      expect(await world.db.prisma.userIdentity.count({ where: { userId: member.userId } })).toBe(0)
    })

    it('needs the session with which it began', async () => {
      const { providerId } = await company()
      const member = await world.owner()
      user(member.email)
      const { jar } = member
      const callback = await world.atProvider(jar, await world.startLink(jar, providerId))
      await world.call(jar, 'POST', '/api/auth/login', { email: member.email, password: PASSWORD })
      expect(await world.finish(jar, callback)).toEqual(linkFailure('session_ended'))
      const other = await world.atProvider(jar, await world.startLink(jar, providerId))
      await world.call(jar, 'POST', '/api/auth/logout')
      expect(await world.finish(jar, other)).toEqual(failure('expired'))
      expect(await world.statusOf(createJar(), 'POST', '/api/auth/identities', { providerId })).toBe(401)
    })

    it('does not give a user of the provider to a second account', async () => {
      const { providerId } = await company()
      const first = await world.owner()
      const subject = user(first.email)
      expect(await world.link(first.jar, providerId)).toEqual(DONE)
      const second = await world.owner()
      idp.accounts.set(subject, { email: second.email, email_verified: true })
      idp.signsIn = subject
      expect(await world.link(second.jar, providerId)).toEqual(linkFailure('linked_elsewhere'))
      const jar = await world.logIn(first.email)
      user(first.email)
      expect(await world.link(jar, providerId)).toEqual(linkFailure('linked_already'))
    })
  })

  describe('with groups', () => {
    it('follows them at each sign-in, and takes away only what it gave', async () => {
      const { domain, projectId, providerId, owner } = await company()
      const subject = user(`grace@${domain}`, { groups: ['eng'] })
      const jar = createJar()
      await world.signIn(jar, providerId)
      const { id } = (await world.me(jar)).user
      expect(await rolesOf(projectId, id)).toBe('editor')
      idp.accounts.set(subject, { email: `grace@${domain}`, email_verified: true, groups: [] })
      await world.signIn(createJar(), providerId)
      expect(await rolesOf(projectId, id)).toBe('viewer')
      const mappings = (roleMappings: object[]) =>
        world.statusOf(owner.jar, 'PATCH', `/api/tenant/oidc-providers/${providerId}`, { roleMappings })
      expect(await mappings([{ projectId, group: 'eng', role: 'admin' }])).toBe(200)
      expect(await world.signIn(createJar(), providerId)).toEqual(failure('no_role'))
      expect(await rolesOf(projectId, id)).toBeUndefined()
      const audit = await world.json<{ data: object[] }>(
        world.call(owner.jar, 'GET', `/api/projects/${projectId}/audit-log?operation=applyRoleMappings`),
      )
      expect(audit.data).toHaveLength(3)
      // An invited member without a matching group stays.
      const invited = await world.owner()
      await world.db.prisma.projectMember.create({
        data: { projectId, userId: invited.userId, role: 'editor' },
      })
      user(invited.email)
      expect(await world.link(invited.jar, providerId)).toEqual(DONE)
      expect(await world.signIn(createJar(), providerId)).toEqual(DONE)
      expect(await rolesOf(projectId, invited.userId)).toBe('editor')
    })

    it('never takes the last owner away', async () => {
      const { projectId, providerId, owner } = await company()
      user(owner.email, { groups: ['eng'] })
      expect(await world.link(owner.jar, providerId)).toEqual(DONE)
      await world.signIn(createJar(), providerId)
      expect(await rolesOf(projectId, owner.userId)).toBe('owner')
      const other = await world.owner()
      await world.db.prisma.projectMember.create({ data: { projectId, userId: other.userId, role: 'owner' } })
      expect(await world.signIn(createJar(), providerId)).toEqual(DONE)
      expect(await rolesOf(projectId, owner.userId)).toBe('editor')
    })

    it('revokes keys that a lower role does not allow', async () => {
      const { domain, projectId, providerId, owner } = await company()
      const path = `/api/tenant/oidc-providers/${providerId}`
      await world.call(owner.jar, 'PATCH', path, {
        roleMappings: [{ projectId, group: null, role: 'admin' }],
      })
      user(`grace@${domain}`)
      const jar = createJar()
      await world.signIn(jar, providerId)
      const body = { name: 'Key', kind: 'sec', scopes: ['manage:admin'] }
      const { id } = await world.json<{ id: string }>(
        world.call(jar, 'POST', `/api/projects/${projectId}/api-keys`, body),
      )
      await world.call(owner.jar, 'PATCH', path, {
        roleMappings: [{ projectId, group: null, role: 'viewer' }],
      })
      await world.signIn(createJar(), providerId)
      expect((await world.db.prisma.apiKey.findUnique({ where: { id } }))?.revokedAt).toEqual(
        expect.any(Date),
      )
    })

    it('stays within the tenant, even with other projects in the table', async () => {
      const { domain, providerId, projectId } = await company()
      const victim = await world.owner()
      await world.db.prisma.oidcProvider.update({
        where: { id: providerId },
        data: {
          roleMappings: [
            { projectId: victim.projectId, group: null, role: 'owner' },
            { projectId, group: null, role: 'viewer' },
          ],
        },
      })
      user(`grace@${domain}`)
      const jar = createJar()
      expect(await world.signIn(jar, providerId)).toEqual(DONE)
      expect(await rolesOf(victim.projectId, (await world.me(jar)).user.id)).toBeUndefined()
    })
  })

  describe('that a tenant requires', () => {
    const require = (jar: Jar, oidcOnly: boolean) =>
      world.statusOf(jar, 'PATCH', '/api/tenant/sign-in-policy', { oidcOnly })

    it('is the only way to its projects, except for owners', async () => {
      const { owner, projectId, providerId } = await company()
      const member = await world.owner()
      await world.db.prisma.projectMember.create({
        data: { projectId, userId: member.userId, role: 'editor' },
      })
      const expiresAt = new Date(Date.now() + 3_600_000).toISOString()
      const { token } = await world.json<{ token: string }>(
        world.call(member.jar, 'POST', '/api/auth/access-tokens', {
          name: 'x',
          projectIds: [projectId],
          expiresAt,
        }),
      )
      const byToken = async () =>
        (
          await fetch(`${world.url}/api/projects/${projectId}`, {
            headers: { Authorization: `Bearer ${token}` },
          })
        ).status
      const reached = async (jar: Jar) =>
        (await world.statusOf(jar, 'GET', `/api/projects/${projectId}`)) === 200
      expect([await reached(member.jar), await byToken()]).toEqual([true, 200])
      expect(await require(owner.jar, true)).toBe(200)
      // Sessions and tokens that exist lose it at once, and a new password session has it neither.
      expect([await reached(member.jar), await byToken()]).toEqual([false, 404])
      const response = await world.call(createJar(), 'POST', '/api/auth/login', {
        email: member.email,
        password: PASSWORD,
      })
      const account = (await response.json()) as { projects: { id: string }[] }
      expect(account.projects.map(({ id }) => id)).toEqual([member.projectId])
      // The own tenant of the member is not concerned, and the owner has a way in.
      expect(await world.statusOf(member.jar, 'GET', `/api/projects/${member.projectId}`)).toBe(200)
      expect(await reached(await world.logIn(owner.email))).toBe(true)
      user(member.email)
      expect(await world.link(member.jar, providerId)).toEqual(DONE)
      const jar = createJar()
      expect(await world.signIn(jar, providerId)).toEqual(DONE)
      expect(await reached(jar)).toBe(true)
      expect(await require(owner.jar, false)).toBe(200)
      expect(await reached(member.jar)).toBe(true)
    })

    it('requires a second factor as well: of owners with their password, while a provider asks for its own', async () => {
      const { owner, providerId, projectId } = await company()
      const member = await world.owner()
      await world.db.prisma.projectMember.create({
        data: { projectId, userId: member.userId, role: 'admin' },
      })
      user(member.email)
      expect(await world.link(member.jar, providerId)).toEqual(DONE)
      await world.db.prisma.tenant.update({
        where: { id: owner.tenantId },
        data: { requiresSecondFactor: true },
      })
      // Otherwise a known password would be enough to add a provider, which then satisfies the requirement.
      expect(await require(owner.jar, true)).toBe(403)
      expect(await world.statusOf(owner.jar, 'GET', '/api/tenant/oidc-providers')).toBe(403)
      const setUp = (userId: string) =>
        world.db.prisma.secondFactor.create({
          data: { userId, secret: new Uint8Array(20), setUpAt: new Date() },
        })
      await setUp(owner.userId)
      expect(await require(owner.jar, true)).toBe(200)
      const read = (jar: Jar, id = projectId) => world.statusOf(jar, 'GET', `/api/projects/${id}`)
      expect(await read(owner.jar)).toBe(200)
      // Of a member neither the password nor the own second factor is enough, and their own tenant asks for nothing.
      expect(await read(member.jar)).toBe(404)
      await setUp(member.userId)
      expect([await read(member.jar), await read(member.jar, member.projectId)]).toEqual([404, 200])
      const jar = createJar()
      expect(await world.signIn(jar, providerId)).toEqual(DONE)
      expect(await read(jar)).toBe(200)
      // An owner whose second factor is gone does not get in with the password, but with the provider.
      await world.db.prisma.secondFactor.delete({ where: { userId: owner.userId } })
      expect(await read(owner.jar)).toBe(403)
      user(owner.email)
      expect(await world.link(owner.jar, providerId)).toEqual(DONE)
      const other = createJar()
      expect(await world.signIn(other, providerId)).toEqual(DONE)
      expect(await read(other)).toBe(200)
    })

    it('needs a provider, and keeps the last one', async () => {
      const owner = await world.owner()
      expect(await require(owner.jar, true)).toBe(422)
      const { id } = await world.addProvider(owner, idp)
      expect(await require(owner.jar, true)).toBe(200)
      expect(await world.statusOf(owner.jar, 'DELETE', `/api/tenant/oidc-providers/${id}`)).toBe(422)
      expect(await require(owner.jar, false)).toBe(200)
      expect(await world.statusOf(owner.jar, 'DELETE', `/api/tenant/oidc-providers/${id}`)).toBe(204)
    })
  })

  describe('that the provider ends', () => {
    const BACKCHANNEL = 'http://schemas.openid.net/event/backchannel-logout'
    const begun = async () => {
      const one = await company()
      const email = `grace@${one.domain}`
      const subject = user(email)
      const jars = [createJar(), createJar()] as const
      for (const jar of jars) expect(await world.signIn(jar, one.providerId)).toEqual(DONE)
      const sessions = await world.db.prisma.session.findMany({
        where: { user: { email } },
        orderBy: { createdAt: 'asc' },
      })
      const [sid] = sessions.map(({ providerSessionId }) => providerSessionId ?? '')
      return { ...one, subject, jars, sid: sid ?? '' }
    }
    const uriOf = (providerId: string) => `${world.url}/api/auth/oidc/${providerId}/backchannel-logout`
    const post = (providerId: string, token: string) =>
      fetch(uriOf(providerId), { method: 'POST', body: new URLSearchParams({ logout_token: token }) })
    const payload = (change: object = {}) => ({
      iss: idp.issuer,
      aud: 'waymark',
      iat: Math.floor(Date.now() / 1_000),
      exp: Math.floor(Date.now() / 1_000) + 120,
      jti: randomUUID(),
      events: { [BACKCHANNEL]: {} },
      ...change,
    })

    it('has ended when it sends a log-out token with the session', async () => {
      const { providerId, subject, jars, sid } = await begun()
      expect(sid).not.toBe('')
      idp.logoutUri = uriOf(providerId)
      await idp.logOut(subject, sid)
      expect([await signedIn(jars[0]), await signedIn(jars[1])]).toEqual([401, 200])
    })

    it('has ended everywhere with a token for the user, which is accepted once', async () => {
      const { providerId, subject, jars, domain } = await begun()
      const token = await idp.sign(payload({ sub: subject }), { typ: 'logout+jwt' })
      const first = await post(providerId, token)
      expect([first.status, first.headers.get('Cache-Control')]).toEqual([200, 'no-store'])
      expect([await signedIn(jars[0]), await signedIn(jars[1])]).toEqual([401, 401])
      user(`x@${domain}`)
      idp.signsIn = subject
      const again = createJar()
      await world.signIn(again, providerId)
      expect((await post(providerId, token)).status).toBe(400)
      expect(await signedIn(again)).toBe(200)
    })

    it('continues after a token that is not for it', async () => {
      const { providerId, subject, jars } = await begun()
      const other = await company()
      const evil = await startProvider()
      const old = Math.floor(Date.now() / 1_000) - 3_600
      const tokens = [
        'nonsense',
        await evil.sign(payload({ sub: subject })),
        await idp.sign(payload({ sub: subject, aud: 'other' })),
        await idp.sign(payload({ sub: subject, iss: evil.issuer })),
        await idp.sign(payload({ sub: subject, exp: old })),
        await idp.sign(payload({ sub: subject, iat: old })),
        await idp.sign(payload({ sub: subject, events: {} })),
        await idp.sign(payload({ sub: subject, nonce: 'x' })),
        await idp.sign(payload({ sub: subject, jti: undefined })),
        await idp.sign(payload()),
        `${Buffer.from('{"alg":"none"}').toString('base64url')}.${Buffer.from(JSON.stringify(payload({ sub: subject }))).toString('base64url')}.`,
      ]
      for (const token of tokens) expect((await post(providerId, token)).status).toBe(400)
      // A valid token for another tenant's provider at the same issuer.
      expect((await post(other.providerId, await idp.sign(payload({ sub: subject })))).status).toBe(200)
      expect((await post(randomUUID(), await idp.sign(payload({ sub: subject })))).status).toBe(400)
      expect([await signedIn(jars[0]), await signedIn(jars[1])]).toEqual([200, 200])
      await evil.stop()
    })
  })

  it('answers while the provider is silent or away, and recovers', async () => {
    const { domain, providerId } = await company()
    user(`grace@${domain}`)
    const jar = createJar()
    const callback = await world.atProvider(jar, await world.start(jar, providerId))
    idp.hangs = true
    expect(await world.finish(jar, callback)).toEqual(failure('provider_unavailable'))
    const stopped = await startProvider()
    const owner = await world.owner()
    const { id } = await world.addProvider(owner, stopped)
    await stopped.stop()
    const response = await fetch(`${world.url}/api/auth/oidc/sign-in`, {
      method: 'POST',
      headers: { Origin: world.url, 'Content-Type': 'application/json' },
      body: JSON.stringify({ providerId: id }),
    })
    expect([response.status, await response.json()]).toEqual([
      503,
      { error: expect.stringMatching(/cannot be reached/), retryAfterSeconds: expect.any(Number) },
    ])
    idp.hangs = false
    expect(await world.signIn(createJar(), providerId)).toEqual(DONE)
  })
})

describe.skipIf(!services)('a deployment with closed registration', () => {
  it('creates no accounts by a provider', async () => {
    const world = await startOidcWorld({ registrationMode: 'closed' })
    const idp = await startProvider()
    const owner = await world.existingOwner()
    const domain = `${randomUUID()}.example`
    await world.verifyDomain(owner, domain)
    const mapping = { projectId: owner.projectId, group: null, role: 'viewer' as const }
    const { id } = await world.addProvider(owner, idp, [mapping])
    idp.accounts.set('1', { email: `grace@${domain}`, email_verified: true })
    idp.signsIn = '1'
    expect(await world.signIn(createJar(), id)).toEqual(failure('registration_closed'))
    await idp.stop()
    await world.stop()
  })
})
