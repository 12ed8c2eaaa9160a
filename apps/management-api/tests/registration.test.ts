import { randomUUID } from 'node:crypto'
import type { AccountView } from '@waymark/contracts/http/account-parts'
import { services } from '@waymark/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { RegistrationMode } from '../src/app.ts'
import { type Management, PASSWORD, startManagement } from './start-management.ts'

describe.skipIf(!services).each(['open', 'invite', 'closed'] as const)(
  'registration that is %s',
  (registrationMode: RegistrationMode) => {
    let management: Management
    let projectId: string
    beforeAll(async () => {
      management = await startManagement({ registrationMode })
      const tenant = { create: { id: randomUUID(), name: 'Shop' } }
      projectId = (
        await management.db.prisma.project.create({ data: { id: randomUUID(), name: 'Shop', tenant } })
      ).id
    })
    afterAll(() => management?.stop())

    const newAddress = () => `${randomUUID()}@example.com`
    const register = async (body: object = {}) => {
      const browser = management.browser()
      const values = { email: newAddress(), password: PASSWORD, name: 'Ada', ...body }
      const response = await browser.request('POST', '/api/auth/register', values)
      return { status: response.status, body: (await response.json()) as Record<string, unknown> }
    }
    const invite = async (email: string): Promise<string> => {
      const response = await fetch(`${management.url}/api/projects/${projectId}/invitations`, {
        method: 'POST',
        headers: { 'X-API-Key': await management.key(projectId), 'Content-Type': 'application/json' },
        body: JSON.stringify({ email, role: 'editor' }),
      })
      return ((await response.json()) as { token: string }).token
    }
    const accept = async (token: string, values: object = { name: 'Ada', password: PASSWORD }) => {
      const response = await management
        .browser()
        .request('POST', '/api/auth/invitations/accept', { token, ...values })
      return response.status
    }
    const accounts = () => management.db.prisma.user.count()

    it('without an invitation', async () => {
      const before = await accounts()
      const { status, body } = await register()
      if (registrationMode === 'open') return expect(status).toBe(201)
      expect({ status, error: body.error }).toEqual({
        status: 403,
        error: expect.stringContaining(`REGISTRATION_MODE is ${registrationMode}`),
      })
      expect(await accounts()).toBe(before)
    })

    it('with an invitation, in both ways', async () => {
      const email = newAddress()
      const invitationToken = await invite(email)
      const registered = await register({ email: email.toUpperCase(), invitationToken })
      const accepted = await accept(await invite(newAddress()))
      if (registrationMode === 'closed') return expect([registered.status, accepted]).toEqual([403, 403])
      expect([registered.status, accepted]).toEqual([201, 200])
      const { projects } = registered.body as unknown as AccountView
      expect(projects).toMatchObject([{ id: projectId, role: 'editor' }])
      expect((await register({ email: newAddress(), invitationToken })).status).toBe(404)
    })

    it('with an invitation that is another’s, used or invalid', async () => {
      const before = await accounts()
      const invitationToken = await invite(newAddress())
      const status = registrationMode === 'closed' ? [403, 403, 403] : [422, 422, 404]
      expect([
        (await register({ invitationToken })).status,
        (await register({ invitationToken, tenantName: 'Mine' })).status,
        (await register({ invitationToken: 'x'.repeat(43) })).status,
      ]).toEqual(status)
      expect(await accounts()).toBe(before)
    })

    it('accepts one of two concurrent registrations with one invitation', async () => {
      if (registrationMode === 'closed') return
      const email = newAddress()
      const invitationToken = await invite(email)
      const both = await Promise.all([0, 1].map(() => register({ email, invitationToken })))
      expect(both.filter(({ status }) => status === 201)).toHaveLength(1)
      expect(await management.db.prisma.user.count({ where: { email } })).toBe(1)
    })
  },
)
