import { services } from '@waymark/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Management, startManagement } from './start-management.ts'

/** Fields that an operation does not declare never reach what is stored, whatever the stored record has of that name. */
describe.skipIf(!services)('fields that an operation does not declare', () => {
  let management: Management
  beforeAll(async () => {
    management = await startManagement()
  })
  afterAll(() => management?.stop())

  const someoneElse = async () => {
    const { account } = await management.register()
    return { projectId: account.projects[0]?.id ?? '', tenantId: account.tenant?.id ?? '' }
  }

  it('make no admin an owner', async () => {
    const { projectId } = await someoneElse()
    const admin = await management.member(projectId, 'admin')
    const response = await admin.request('PATCH', `/api/projects/${projectId}`, {
      name: 'Renamed',
      members: { updateMany: { where: { userId: admin.userId }, data: { role: 'owner' } } },
    })
    expect(response.status).toBe(200)
    expect(await response.json()).toMatchObject({ name: 'Renamed', role: 'admin' })
    const key = { projectId_userId: { projectId, userId: admin.userId } }
    expect(await management.db.prisma.projectMember.findUnique({ where: key })).toMatchObject({
      role: 'admin',
    })
  })

  it('move no project into another tenant', async () => {
    const { tenantId } = await someoneElse()
    const owner = await management.register()
    const [project] = owner.account.projects
    const response = await owner.request('PATCH', `/api/projects/${project?.id}`, { tenantId })
    expect(response.status).toBe(200)
    expect(await response.json()).toMatchObject({ tenantId: project?.tenantId })
  })

  it('take no project from another tenant', async () => {
    const { projectId, tenantId } = await someoneElse()
    const thief = await management.register()
    const response = await thief.request('PATCH', '/api/tenant/profile', {
      name: 'Thieves',
      projects: { connect: [{ id: projectId }] },
    })
    expect(response.status).toBe(200)
    expect(await management.db.prisma.project.findUnique({ where: { id: projectId } })).toMatchObject({
      tenantId,
    })
  })

  it('write nothing into another project', async () => {
    const other = await someoneElse()
    const owner = await management.register()
    const [project] = owner.account.projects
    const created = await owner.request('POST', `/api/projects/${project?.id}/email-triggers`, {
      name: 'Welcome',
      eventName: 'signed_up',
      subject: 'Welcome',
      html: '<p>Welcome</p>',
      projectId: other.projectId,
    })
    expect(created.status).toBe(201)
    const { id } = (await created.json()) as { id: string }
    await owner.request('PATCH', `/api/projects/${project?.id}/email-triggers/${id}`, {
      projectId: other.projectId,
    })
    const { projectId } = await management.db.prisma.emailTrigger.findUniqueOrThrow({ where: { id } })
    expect(projectId).toBe(project?.id)
  })

  it.each([{ '': 1 }, { unknown: 1 }, { __proto__: null, name: 'Shop', archivedAt: '2020-01-01T00:00:00Z' }])(
    'are left out: %j',
    async (fields) => {
      const owner = await management.register()
      const [project] = owner.account.projects
      expect((await owner.request('PATCH', `/api/projects/${project?.id}`, fields)).status).toBe(200)
      expect((await owner.request('GET', `/api/projects/${project?.id}`)).status).toBe(200)
    },
  )

  it('may lie 50 levels deep with all that is around them, and no level more', async () => {
    const owner = await management.register()
    const [project] = owner.account.projects
    const rename = (levels: number) => {
      let deep: unknown = 1
      for (let level = 1; level < levels; level++) deep = { deep }
      return owner.request('PATCH', `/api/projects/${project?.id}`, { name: 'Shop', deep })
    }
    expect((await rename(50)).status).toBe(200)
    const refused = await rename(51)
    expect(refused.status).toBe(422)
    expect(await refused.json()).toMatchObject({ errors: [{ rule: 'depth' }] })
  })
})
