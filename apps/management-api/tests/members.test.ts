import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { request } from 'node:http'
import type { AccountView } from '@waymark/contracts/http/account-parts'
import type { ProjectRole } from '@waymark/contracts/project-role'
import { eventually, services } from '@waymark/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { addressWebhookNotices } from '../src/webhooks/address-notices.ts'
import { type Browser, type Management, PASSWORD, startManagement } from './start-management.ts'

type Invitation = { id: string; token: string; email: string; status: string }
type Page<T> = { data: T[]; nextCursor: string | null }

const json = async <T>(response: Response | Promise<Response>): Promise<T> =>
  (await (await response).json()) as T

describe.skipIf(!services)('projects and their members', () => {
  let management: Management
  let aheadMs = 0
  /** How many requests were authorized before their bodies were read. */
  let authorized = 0

  beforeAll(async () => {
    management = await startManagement({
      arrange: (service) => ({
        ...service,
        routes: (service.routes ?? []).map(({ allow, ...route }) => ({
          ...route,
          allow: async (request) => {
            const caller: unknown = await allow?.(request)
            authorized++
            return caller
          },
        })),
      }),
      adapt: (platform) => ({ ...platform, clock: () => Date.now() + aheadMs }),
    })
  })
  afterAll(() => management?.stop())

  /** A user with a project. */
  const anOwner = async () => {
    const owner = await management.register()
    const [project] = owner.account.projects
    if (!project) throw new Error('no project')
    return { owner, project, path: `/api/projects/${project.id}`, userId: owner.account.user.id }
  }
  const rolesOf = async (projectId: string) => {
    const members = await management.db.prisma.projectMember.findMany({ where: { projectId } })
    return members.map(({ role }) => role).toSorted()
  }

  describe('a request whose body is still arriving', () => {
    const hold = async (
      headers: Record<string, string>,
      path: string,
      body: unknown,
      whileHeld: () => Promise<unknown>,
    ): Promise<number | undefined> => {
      const text = JSON.stringify(body)
      const asked = request(`${management.url}${path}`, {
        method: 'POST',
        headers: {
          Origin: management.url,
          'Content-Type': 'application/json',
          'Content-Length': Buffer.byteLength(text),
          ...headers,
        },
      })
      const answered = once(asked, 'response')
      const before = authorized
      asked.write(text.slice(0, 1))
      await eventually('it is authorized', () => authorized > before)
      await whileHeld()
      asked.end(text.slice(1))
      const [response] = await answered
      response.resume()
      return response.statusCode
    }
    const newKey = { name: 'A key', kind: 'sec', scopes: ['manage:admin'] }
    const keysOf = (projectId: string) => management.db.prisma.apiKey.count({ where: { projectId } })

    it('is allowed to whom it was at its end', async () => {
      const { owner, project, path } = await anOwner()
      const before = await keysOf(project.id)
      const cookie = { Cookie: owner.cookie }
      expect(await hold(cookie, `${path}/api-keys`, newKey, async () => {})).toBe(201)
      expect(await keysOf(project.id)).toBe(before + 1)
    })

    it('is refused to an admin who was removed meanwhile', async () => {
      const { owner, project, path } = await anOwner()
      const admin = await management.member(project.id, 'admin')
      const accomplice = await management.member(project.id, 'viewer')
      const before = await keysOf(project.id)
      const status = await hold({ Cookie: admin.cookie }, `${path}/api-keys`, newKey, () =>
        owner.request('DELETE', `${path}/members/${admin.userId}`),
      )
      expect(status).toBe(404)
      expect(await keysOf(project.id)).toBe(before)
      expect(await rolesOf(project.id)).toEqual(['owner', 'viewer'])
      expect(accomplice.userId).not.toBe(admin.userId)
    })

    it('is refused to a session that a changed password has ended', async () => {
      const { owner, project, path } = await anOwner()
      const before = await keysOf(project.id)
      const other = management.browser()
      const { email } = owner.account.user
      await other.request('POST', '/api/auth/login', { email, password: PASSWORD })
      const change = { currentPassword: PASSWORD, newPassword: `${PASSWORD} and more` }
      const [ofProject, ofAccount] = await Promise.all([
        hold({ Cookie: other.cookie }, `${path}/api-keys`, newKey, async () => {
          const changed = await owner.request('POST', '/api/auth/change-password', change)
          expect(changed.status).toBeLessThan(300)
        }),
        hold({ Cookie: other.cookie }, '/api/projects', { name: 'Mine' }, () =>
          eventually('the session has ended', async () => {
            const asked = await other.request('GET', '/api/auth/me')
            return asked.status === 401
          }),
        ),
      ])
      expect([ofProject, ofAccount]).toEqual([401, 401])
      expect(await keysOf(project.id)).toBe(before)
      expect(await management.db.prisma.project.count({ where: { name: 'Mine' } })).toBe(0)
    })

    it('is refused to a key that was revoked meanwhile', async () => {
      const { owner, path } = await anOwner()
      const { id, key } = await json<{ id: string; key: string }>(
        owner.request('POST', `${path}/api-keys`, newKey),
      )
      const link = { destination: 'https://shop.example/' }
      const status = await hold({ 'X-API-Key': key }, `${path}/links`, link, () =>
        owner.request('DELETE', `${path}/api-keys/${id}`),
      )
      expect(status).toBe(401)
      expect((await json<Page<object>>(owner.request('GET', `${path}/links`))).data).toEqual([])
    })
  })

  describe('a project', () => {
    it('is created in the tenant of its owner, listed, read and renamed', async () => {
      const { owner, project } = await anOwner()
      const response = await owner.request('POST', '/api/projects', { name: 'Shop' })
      expect(response.status).toBe(201)
      const created = await json<{ id: string }>(response)
      expect(created).toMatchObject({ name: 'Shop', role: 'owner', tenantId: project.tenantId })
      const path = `/api/projects/${created.id}`
      const renamed = await json(owner.request('PATCH', path, { name: 'Store' }))
      expect(renamed).toEqual({ ...created, name: 'Store' })
      expect(await json(owner.request('PATCH', path, {}))).toEqual(renamed)
      expect(await json(owner.request('GET', path))).toEqual(renamed)
      expect(await json(owner.request('GET', '/api/projects'))).toEqual({
        data: [renamed, project],
        nextCursor: null,
      })
      const first = await json<Page<object>>(owner.request('GET', '/api/projects?limit=1'))
      expect(first.data).toEqual([renamed])
      const second = await json(owner.request('GET', `/api/projects?limit=1&cursor=${first.nextCursor}`))
      expect(second).toEqual({ data: [project], nextCursor: null })
    })

    it('is not created in a tenant without an owned project', async () => {
      const { owner, project } = await anOwner()
      const editor = await management.member(project.id, 'editor')
      const inTenant = (browser: Browser, tenantId: unknown) =>
        browser.request('POST', '/api/projects', { name: 'Shop', tenantId })
      expect(await json(inTenant(editor, project.tenantId))).toMatchObject({ requiredRole: 'owner' })
      const stranger = await management.register()
      expect((await inTenant(stranger, project.tenantId)).status).toBe(404)
      expect((await inTenant(owner, 'nonsense')).status).toBe(422)
    })

    it('is unavailable after it is archived, also for its keys', async () => {
      const { owner, project, path } = await anOwner()
      const key = { 'X-API-Key': await management.key(project.id) }
      const byKey = () => fetch(`${management.url}${path}/settings`, { headers: key })
      expect((await byKey()).status).toBe(200)
      expect((await owner.request('DELETE', path)).status).toBe(204)
      expect((await owner.request('GET', path)).status).toBe(404)
      expect((await owner.request('DELETE', path)).status).toBe(404)
      expect(await json(owner.request('GET', '/api/auth/me'))).toMatchObject({
        projects: [],
        tenant: { id: project.tenantId },
      })
      await eventually('the key is refused', async () => (await byKey()).status === 401)
      const again = await json(owner.request('POST', '/api/projects', { name: 'Anew' }))
      expect(again).toMatchObject({ tenantId: project.tenantId })
    })
  })

  describe('roles', () => {
    it('are granted and revoked by admins, up to their own', async () => {
      const { owner, project, path, userId } = await anOwner()
      const admin = await management.member(project.id, 'admin')
      const viewer = await management.member(project.id, 'viewer')
      const change = (browser: Browser, id: string, role: ProjectRole) =>
        browser.request('PATCH', `${path}/members/${id}`, { role })
      expect(await json(change(admin, viewer.userId, 'editor'))).toMatchObject({
        id: viewer.userId,
        email: viewer.email,
        role: 'editor',
      })
      for (const refused of [
        change(admin, viewer.userId, 'owner'),
        change(admin, admin.userId, 'owner'),
        change(admin, userId, 'viewer'),
        admin.request('DELETE', `${path}/members/${userId}`),
        admin.request('POST', `${path}/invitations`, { email: 'a@example.com', role: 'owner' }),
        change(viewer, viewer.userId, 'viewer'),
      ])
        expect((await refused).status).toBe(403)
      const byKey = await fetch(`${management.url}${path}/members/${viewer.userId}`, {
        method: 'PATCH',
        headers: { 'X-API-Key': await management.key(project.id), 'Content-Type': 'application/json' },
        body: '{"role":"owner"}',
      })
      expect(await json(byKey)).toMatchObject({ requiredRole: 'owner' })
      expect((await change(owner, admin.userId, 'owner')).status).toBe(200)
      expect((await change(owner, randomUUID(), 'viewer')).status).toBe(404)
      expect(await json(owner.request('PATCH', `${path}/members/${userId}`, { role: 'king' }))).toMatchObject(
        {
          errors: [{ field: 'role', rule: 'enum' }],
        },
      )
      expect(await rolesOf(project.id)).toEqual(['editor', 'owner', 'owner'])
    })

    it('hide a project from former members', async () => {
      const { owner, project, path } = await anOwner()
      const removed = await management.member(project.id, 'admin')
      const leaving = await management.member(project.id, 'viewer')
      expect((await owner.request('DELETE', `${path}/members/${removed.userId}`)).status).toBe(204)
      expect((await leaving.request('DELETE', `${path}/members/me`)).status).toBe(204)
      expect((await leaving.request('DELETE', `${path}/members/me`)).status).toBe(404)
      expect((await leaving.request('DELETE', '/api/projects/nonsense/members/me')).status).toBe(404)
      for (const browser of [removed, leaving]) expect((await browser.request('GET', path)).status).toBe(404)
    })

    it('leave their webhooks to the project when they leave, and an owner is mailed once', async () => {
      const { owner, project, path } = await anOwner()
      const creator = await management.member(project.id, 'admin')
      const ids: string[] = []
      for (const name of ['one', 'two']) {
        const body = { url: `https://shop.example/${name}`, topics: ['event'] }
        const created = await creator.request('POST', `${path}/webhooks`, body)
        ids.push(((await created.json()) as { id: string }).id)
      }
      expect((await owner.request('DELETE', `${path}/members/${creator.userId}`)).status).toBe(204)
      const { prisma } = management.db
      const kept = await prisma.webhook.findMany({ where: { id: { in: ids } }, orderBy: { id: 'asc' } })
      expect(kept).toMatchObject([
        { status: 'active', ownerId: null, noticeDueAt: expect.any(Date) },
        { status: 'active', ownerId: null, noticeDueAt: null },
      ])
      await addressWebhookNotices(management).run(new AbortController().signal)
      const addressed = await prisma.webhook.findUnique({ where: { id: ids[0] ?? '' } })
      expect(addressed?.noticeRecipient).toBe(owner.account.user.email)
    })

    it('keep the last owner', async () => {
      const { owner, project, path, userId } = await anOwner()
      for (const refused of [
        owner.request('DELETE', `${path}/members/me`),
        owner.request('DELETE', `${path}/members/${userId}`),
        owner.request('PATCH', `${path}/members/${userId}`, { role: 'admin' }),
      ]) {
        const response = await refused
        expect(response.status).toBe(422)
        expect(await response.json()).toMatchObject({ errors: [{ field: 'role', rule: 'last_owner' }] })
      }
      expect(await rolesOf(project.id)).toEqual(['owner'])
    })

    it.each(['demote each other', 'demote themselves', 'leave'])(
      'keep an owner when the last two %s concurrently',
      async (how) => {
        for (let round = 0; round < 5; round++) {
          const { owner, project, path, userId } = await anOwner()
          const other = await management.member(project.id, 'owner')
          const demote = (browser: Browser, id: string) =>
            browser.request('PATCH', `${path}/members/${id}`, { role: 'viewer' })
          const leave = (browser: Browser) => browser.request('DELETE', `${path}/members/me`)
          const answers = await Promise.all(
            how === 'leave'
              ? [leave(owner), leave(other)]
              : how === 'demote themselves'
                ? [demote(owner, userId), demote(other, other.userId)]
                : [demote(owner, other.userId), demote(other, userId)],
          )
          const succeeded = answers.filter(({ ok }) => ok)
          expect(succeeded).toHaveLength(1)
          expect((await rolesOf(project.id)).filter((role) => role === 'owner')).toHaveLength(1)
        }
      },
    )
  })

  describe('an invitation', () => {
    const invite = async (
      browser: Browser,
      path: string,
      role: ProjectRole,
      email = `${randomUUID()}@example.com`,
    ) => {
      const response = await browser.request('POST', `${path}/invitations`, { email, role })
      expect(response.status).toBe(201)
      return json<Invitation>(response)
    }
    const accept = (browser: Browser, body: object) =>
      browser.request('POST', '/api/auth/invitations/accept', body)
    const asSomebodyNew = { name: 'New', password: PASSWORD }

    it('creates a new user, signs them in and makes them a member, once', async () => {
      const { owner, project, path } = await anOwner()
      const { token, email } = await invite(owner, path, 'editor')
      const guest = management.browser()
      expect((await accept(guest, { token })).status).toBe(401)
      expect(await json(accept(guest, { token, name: 'New', password: 'password1234' }))).toMatchObject({
        errors: [{ field: 'password', rule: 'common' }],
      })
      const response = await accept(guest, { token, ...asSomebodyNew })
      expect(response.status).toBe(200)
      const account = await json<AccountView>(response)
      expect(account).toMatchObject({ user: { email }, projects: [{ id: project.id, role: 'editor' }] })
      expect(await json(guest.request('GET', '/api/auth/me'))).toEqual(account)
      expect((await accept(management.browser(), { token, ...asSomebodyNew })).status).toBe(404)
      expect(await json(owner.request('GET', `${path}/invitations`))).toMatchObject({
        data: [{ email, status: 'accepted' }],
      })
    })

    it('is valid only for its address', async () => {
      const { owner, project, path } = await anOwner()
      const guest = await management.register()
      const stranger = await management.register()
      const { token } = await invite(owner, path, 'admin', guest.account.user.email.toUpperCase())
      expect((await accept(stranger, { token })).status).toBe(422)
      // A user with an account signs in with it.
      expect(await json(accept(management.browser(), { token, ...asSomebodyNew }))).toMatchObject({
        errors: [{ field: 'email', rule: 'unique' }],
      })
      const elsewhere = { Origin: 'https://elsewhere.example' }
      const crossSite = await guest.request('POST', '/api/auth/invitations/accept', { token }, elsewhere)
      expect(crossSite.status).toBe(403)
      const { projects } = await json<AccountView>(accept(guest, { token }))
      expect(projects).toHaveLength(2)
      expect(projects).toContainEqual(expect.objectContaining({ id: project.id, role: 'admin' }))
      const again = await owner.request('POST', `${path}/invitations`, {
        email: guest.account.user.email,
        role: 'viewer',
      })
      expect(await json(again)).toMatchObject({ errors: [{ field: 'email', rule: 'member' }] })
    })

    it('is accepted once under concurrency', async () => {
      const { owner, project, path } = await anOwner()
      const guest = await management.register()
      const { token } = await invite(owner, path, 'viewer', guest.account.user.email)
      const answers = await Promise.all(Array.from({ length: 8 }, () => accept(guest, { token })))
      expect(answers.map(({ status }) => status).toSorted()).toEqual([200, ...Array(7).fill(404)])
      const fresh = await invite(owner, path, 'viewer')
      const registered = await Promise.all(
        Array.from({ length: 5 }, () =>
          accept(management.browser(), { token: fresh.token, ...asSomebodyNew }),
        ),
      )
      expect(registered.filter(({ ok }) => ok)).toHaveLength(1)
      expect(await rolesOf(project.id)).toEqual(['owner', 'viewer', 'viewer'])
    })

    it.each([
      [
        'revoked',
        async (owner: Browser, path: string, { id }: Invitation) => {
          expect((await owner.request('DELETE', `${path}/invitations/${id}`)).status).toBe(204)
        },
      ],
      [
        'replaced by another',
        async (owner: Browser, path: string, { email }: Invitation) => {
          await invite(owner, path, 'viewer', email)
        },
      ],
      [
        'older than 7 days',
        async () => {
          aheadMs = 7 * 24 * 3_600_000
        },
      ],
      [
        'for a project that is archived',
        async (owner: Browser, path: string) => {
          expect((await owner.request('DELETE', path)).status).toBe(204)
        },
      ],
    ])('is refused when it is %s', async (_what, spoil) => {
      try {
        const { owner, path } = await anOwner()
        const invitation = await invite(owner, path, 'viewer')
        await spoil(owner, path, invitation)
        const { token } = invitation
        expect((await accept(management.browser(), { token, ...asSomebodyNew })).status).toBe(404)
      } finally {
        aheadMs = 0
      }
    })

    it.each(['', 'nonsense', 'A'.repeat(43)])('is not the token %j', async (token) => {
      expect((await accept(management.browser(), { token, ...asSomebodyNew })).status).toBe(404)
    })

    it('ends with the membership of its creator', async () => {
      const { owner, project, path } = await anOwner()
      const admin = await management.member(project.id, 'admin')
      const { token } = await invite(admin, path, 'admin')
      await owner.request('DELETE', `${path}/members/${admin.userId}`)
      expect((await accept(management.browser(), { token, ...asSomebodyNew })).status).toBe(404)
    })

    it('is hidden from other projects', async () => {
      const { owner, path } = await anOwner()
      const { id } = await invite(owner, path, 'viewer')
      const other = await anOwner()
      expect((await other.owner.request('DELETE', `${other.path}/invitations/${id}`)).status).toBe(404)
      expect(await json(other.owner.request('GET', `${other.path}/invitations`))).toMatchObject({ data: [] })
    })
  })

  describe('the API keys of a member', () => {
    type Key = { id: string; key: string; ownerId: string | null }
    const make = async (
      path: string,
      as: Browser | string,
      scopes: readonly string[] = ['manage:admin', 'decide'],
    ): Promise<Key> => {
      const body = { name: 'Server', kind: 'sec', scopes }
      const response =
        typeof as === 'string'
          ? await fetch(`${management.url}${path}/api-keys`, {
              method: 'POST',
              headers: { 'X-API-Key': as, 'Content-Type': 'application/json' },
              body: JSON.stringify(body),
            })
          : await as.request('POST', `${path}/api-keys`, body)
      expect(response.status).toBe(201)
      return json(response)
    }
    const works = async (path: string, { key }: Key) =>
      (await fetch(`${management.url}${path}/settings`, { headers: { 'X-API-Key': key } })).status === 200
    const worksEach = (path: string, keys: Key[]) => Promise.all(keys.map((key) => works(path, key)))

    it('are revoked with their descendants when the member is removed', async () => {
      const { owner, project, path, userId } = await anOwner()
      const admin = await management.member(project.id, 'admin')
      const own = await make(path, owner)
      const made = await make(path, admin)
      const byKey = await make(path, made.key)
      expect([own.ownerId, made.ownerId, byKey.ownerId]).toEqual([userId, admin.userId, admin.userId])
      expect(await worksEach(path, [own, made, byKey])).toEqual([true, true, true])
      expect((await owner.request('DELETE', `${path}/members/${admin.userId}`)).status).toBe(204)
      // Processes may cache the key for some seconds. It must not create another one in that time.
      const late = await fetch(`${management.url}${path}/api-keys`, {
        method: 'POST',
        headers: { 'X-API-Key': made.key, 'Content-Type': 'application/json' },
        body: JSON.stringify({ name: 'Late', kind: 'sec', scopes: ['decide'] }),
      })
      expect(late.status).toBe(401)
      await eventually('they are refused', async () =>
        (await worksEach(path, [made, byKey])).every((working) => !working),
      )
      expect(await works(path, own)).toBe(true)
    })

    it('are revoked when the member leaves', async () => {
      const { project, path } = await anOwner()
      const admin = await management.member(project.id, 'admin')
      const made = await make(path, admin)
      expect((await admin.request('DELETE', `${path}/members/me`)).status).toBe(204)
      await eventually('it is refused', async () => !(await works(path, made)))
    })

    it('are transferred to the remover on request', async () => {
      const { owner, project, path, userId } = await anOwner()
      const admin = await management.member(project.id, 'admin')
      const made = await make(path, admin)
      const member = `${path}/members/${admin.userId}`
      expect((await owner.request('DELETE', `${member}?apiKeys=keep`)).status).toBe(422)
      const byTheirKey = await fetch(`${management.url}${member}?apiKeys=handOver`, {
        method: 'DELETE',
        headers: { 'X-API-Key': made.key },
      })
      expect(byTheirKey.status).toBe(422)
      expect((await owner.request('DELETE', `${member}?apiKeys=handOver`)).status).toBe(204)
      expect(await json(owner.request('GET', `${path}/api-keys/${made.id}`))).toMatchObject({
        ownerId: userId,
        revokedAt: null,
      })
      expect(await works(path, made)).toBe(true)
    })

    it('are revoked when their scopes exceed the new role', async () => {
      const { owner, project, path } = await anOwner()
      const admin = await management.member(project.id, 'admin')
      const wide = await make(path, admin)
      const narrow = await make(path, admin, ['manage:write', 'decide'])
      const member = `${path}/members/${admin.userId}`
      expect((await owner.request('PATCH', member, { role: 'owner' })).status).toBe(200)
      expect((await owner.request('PATCH', member, { role: 'admin' })).status).toBe(200)
      expect(await worksEach(path, [wide, narrow])).toEqual([true, true])
      expect((await owner.request('PATCH', member, { role: 'editor' })).status).toBe(200)
      await eventually('the one is refused', async () => !(await works(path, wide)))
      expect(await works(path, narrow)).toBe(true)
      expect((await owner.request('PATCH', member, { role: 'viewer' })).status).toBe(200)
      await eventually('the other is refused', async () => !(await works(path, narrow)))
    })

    it('belong to the member who last rotated them', async () => {
      const { owner, project, path, userId } = await anOwner()
      const admin = await management.member(project.id, 'admin')
      const made = await make(path, admin)
      const rotated = await json<Key>(owner.request('POST', `${path}/api-keys/${made.id}/rotate`, {}))
      expect(rotated.ownerId).toBe(userId)
      expect((await owner.request('DELETE', `${path}/members/${admin.userId}`)).status).toBe(204)
      await eventually('the old one is refused', async () => !(await works(path, made)))
      expect(await works(path, rotated)).toBe(true)
    })

    it('are deleted with their account', async () => {
      const { project, path } = await anOwner()
      const admin = await management.member(project.id, 'admin')
      const made = await make(path, admin)
      await management.db.prisma.user.delete({ where: { id: admin.userId } })
      expect(await management.db.prisma.apiKey.findUnique({ where: { id: made.id } })).toBeNull()
    })

    it('revoke only invitations that they created', async () => {
      const { owner, project, path } = await anOwner()
      const admin = await management.member(project.id, 'admin')
      const made = await make(path, admin)
      const invited = await fetch(`${management.url}${path}/invitations`, {
        method: 'POST',
        headers: { 'X-API-Key': made.key, 'Content-Type': 'application/json' },
        body: JSON.stringify({ email: `${randomUUID()}@example.com`, role: 'admin' }),
      })
      expect(await invited.json()).toMatchObject({ invitedBy: admin.userId })
      await owner.request('POST', `${path}/invitations`, { email: 'b@example.com', role: 'viewer' })
      await owner.request('DELETE', `${path}/members/${admin.userId}`)
      const { data } = await json<Page<Invitation>>(owner.request('GET', `${path}/invitations`))
      expect(data.map(({ status }) => status)).toEqual(['pending', 'revoked'])
    })
  })

  describe('a tenant', () => {
    it('is read by members and by keys with the scope, and renamed by owners', async () => {
      const { owner, project } = await anOwner()
      const viewer = await management.member(project.id, 'viewer')
      const path = `/api/tenant/profile?tenantId=${project.tenantId}`
      const tenant = {
        id: project.tenantId,
        name: 'Ada',
        requiresSecondFactor: false,
        createdAt: expect.any(String),
      }
      expect(await json(viewer.request('GET', path))).toEqual(tenant)
      const key = { 'X-API-Key': await management.key(project.id, ['tenant:read']) }
      const byKey = (query = '') => fetch(`${management.url}/api/tenant/profile${query}`, { headers: key })
      expect(await json(byKey())).toEqual(tenant)
      expect((await byKey(`?tenantId=${randomUUID()}`)).status).toBe(404)
      expect(await json(viewer.request('PATCH', path, { name: 'Mine' }))).toMatchObject({
        requiredRole: 'owner',
      })
      expect(await json(owner.request('PATCH', path, { name: 'Lovelace' }))).toEqual({
        ...tenant,
        name: 'Lovelace',
      })
      const stranger = await management.register()
      expect((await stranger.request('PATCH', path, { name: 'Mine' })).status).toBe(404)
      expect(await json(stranger.request('GET', '/api/tenant/profile'))).toEqual(stranger.account.tenant)
    })
  })

  describe('the users', () => {
    it('are those of the projects that the caller administers', async () => {
      const { owner, project, userId } = await anOwner()
      const viewer = await management.member(project.id, 'viewer')
      const users = (browser: Browser, query = '') => browser.request('GET', `/api/admin/users${query}`)
      const of = async (response: Promise<Response>) =>
        (await json<Page<{ id: string }>>(response)).data.map(({ id }) => id).toSorted()
      expect(await of(users(owner))).toEqual([userId, viewer.userId].toSorted())
      expect(await of(users(owner, `?projectId=${project.id}`))).toEqual([userId, viewer.userId].toSorted())
      // The viewer also owns a project. They see only themselves in this one.
      expect(await of(users(viewer))).toEqual([viewer.userId])
      expect(await json(users(viewer, `?projectId=${project.id}`))).toMatchObject({ requiredRole: 'admin' })
      const stranger = await management.register()
      expect((await users(stranger, `?projectId=${project.id}`)).status).toBe(404)
      expect((await users(stranger, '?projectId=nonsense')).status).toBe(404)
      await management.db.prisma.projectMember.updateMany({
        where: { userId: stranger.account.user.id },
        data: { role: 'editor' },
      })
      expect((await users(stranger)).status).toBe(403)
      const key = { 'X-API-Key': await management.key(project.id, ['manage:admin']) }
      const byKey = await fetch(`${management.url}/api/admin/users`, { headers: key })
      expect(await json(byKey)).toMatchObject({
        data: [
          { id: viewer.userId, email: viewer.email, projects: [{ id: project.id, role: 'viewer' }] },
          { id: userId, projects: [{ id: project.id, role: 'owner' }] },
        ],
      })
    })
  })

  describe('the audit log', () => {
    it('records who changed what, from where, and the names of the fields without values', async () => {
      const { owner, project, path, userId } = await anOwner()
      const created = await json<{ id: string; key: string }>(
        owner.request('POST', `${path}/api-keys`, { name: 'Server', kind: 'sec', scopes: ['manage:write'] }),
      )
      const definition = await json<{ id: string }>(
        fetch(`${management.url}${path}/event-definitions`, {
          method: 'POST',
          headers: {
            'X-API-Key': created.key,
            'Content-Type': 'application/json',
            'X-Request-Id': 'request-1',
          },
          body: JSON.stringify({ name: 'signed_up', schema: {} }),
        }),
      )
      await owner.request('PATCH', path, { name: 'secret plans' })
      // Reads and failures change nothing.
      await owner.request('GET', path)
      await owner.request('PATCH', path, { name: '' })

      const entries = await json<Page<object>>(owner.request('GET', `${path}/audit-log`))
      const actor = { kind: 'user', id: userId, name: owner.account.user.email }
      expect(entries).toMatchObject({
        data: [
          { operation: 'updateProject', actor, resourceId: project.id, fields: ['name'] },
          {
            operation: 'createEventDefinition',
            actor: { kind: 'key', id: created.id, name: 'Server' },
            resourceId: definition.id,
            fields: ['name', 'schema'],
            requestId: 'request-1',
          },
          {
            operation: 'createApiKey',
            actor,
            resourceId: created.id,
            network: expect.stringMatching(/^(127\.0\.0\.0|::)$/),
          },
          { operation: 'register', actor, fields: [] },
        ],
        nextCursor: null,
      })
      expect(JSON.stringify(entries)).not.toContain('secret plans')
      expect(JSON.stringify(entries)).not.toContain(created.key)

      const filtered = async (query: string) => {
        const { data } = await json<Page<{ operation: string }>>(
          owner.request('GET', `${path}/audit-log?${query}`),
        )
        return data.map(({ operation }) => operation)
      }
      expect(await filtered(`actorId=${created.id}`)).toEqual(['createEventDefinition'])
      expect(await filtered('operation=register')).toEqual(['register'])
      expect(await filtered(`resourceId=${created.id}`)).toEqual(['createApiKey'])
      expect(await filtered('to=2020-01-01T00:00:00Z')).toEqual([])
      expect(await filtered('from=2020-01-01T00:00:00Z&limit=1')).toEqual(['updateProject'])
      expect((await owner.request('GET', `${path}/audit-log?from=yesterday`)).status).toBe(422)

      const first = await json<Page<object>>(owner.request('GET', `${path}/audit-log?limit=3`))
      const rest = await json<Page<object>>(
        owner.request('GET', `${path}/audit-log?limit=3&cursor=${first.nextCursor}`),
      )
      expect([...first.data, ...rest.data]).toEqual(entries.data)
    })
  })
})
