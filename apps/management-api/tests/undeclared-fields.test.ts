import { services } from '@waymark/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Management, startManagement } from './start-management.ts'

type Refusal = { error: string; errors: { field: string; message: string }[] }

describe.skipIf(!services)('an undeclared field', () => {
  let management: Management
  beforeAll(async () => {
    management = await startManagement()
  })
  afterAll(() => management?.stop())

  const someoneElse = async () => {
    const { account } = await management.register()
    return { projectId: account.projects[0]?.id ?? '', tenantId: account.tenant?.id ?? '' }
  }
  const owner = async () => {
    const user = await management.register()
    const projectId = user.account.projects[0]?.id ?? ''
    const ask = async (method: string, path: string, body?: unknown) => {
      const response = await user.request(method, `/api/projects/${projectId}${path}`, body)
      return { status: response.status, body: (await response.json()) as Refusal & Record<string, unknown> }
    }
    return { ...user, projectId, ask }
  }

  it.each([
    ['POST', '/metering-selectors', { eventName: 'e', currency: 'EUR' }, 'currency', 'currencyProperty'],
    [
      'POST',
      '/api-keys',
      { name: 'k', kind: 'sec', scopes: ['decide'], expires: '2030-01-01' },
      'expires',
      'expiresAt',
    ],
    [
      'POST',
      '/email-triggers',
      { name: 'n', eventName: 'e', subject: 's', html: 'h', cooldown: 5 },
      'cooldown',
      'cooldownSeconds',
    ],
    [
      'POST',
      '/decisions',
      { key: 'd', variants: [{ key: 'a', value: 1 }], fallbackVariant: 'a', rules: [], holdoutPercentage: 5 },
      'holdoutPercentage',
      'holdout',
    ],
    ['PATCH', '/settings', { links: { appendClickID: false } }, 'links.appendClickID', 'appendClickId'],
    [
      'POST',
      '/decisions',
      { key: 'd', variants: [{ key: 'a', value: 1, pool: 'p' }], fallbackVariant: 'a', rules: [] },
      'variants.0.pool',
      'couponPoolId',
    ],
  ])('is refused in the body of %s %s, with the allowed ones', async (method, path, body, field, allowed) => {
    const { ask } = await owner()
    const refused = await ask(method, path, body)
    expect(refused.status).toBe(422)
    expect(refused.body.errors).toMatchObject([{ field }])
    expect(refused.body.errors[0]?.message).toContain(allowed)
    expect(refused.body.error).toContain(`${field} is not a known field; allowed: `)
  })

  it('is refused in a pool, which is not changed', async () => {
    const { ask } = await owner()
    const pool = await ask('POST', '/coupon-pools', { name: 'p', kind: 'unique', discount: { type: 'free' } })
    expect(pool.status).toBe(201)
    const refused = await ask('PATCH', `/coupon-pools/${pool.body.id}`, { status: 'archived' })
    expect(refused.status).toBe(422)
    expect(refused.body.errors).toMatchObject([{ field: 'status' }])
  })

  it.each(['/events?userid=x', '?x=1', '/links?archived=true', '/settings?limit=1'])(
    'is refused in the query of GET %s',
    async (path) => {
      const { ask } = await owner()
      const refused = await ask('GET', path)
      expect(refused.status).toBe(400)
      expect(refused.body.error).toMatch(/ is not a known query parameter; (allowed: |none is allowed here)/)
      expect(refused.body.errors).toHaveLength(1)
    },
  )

  it('is reported before invalid values of the query, each once', async () => {
    const { ask } = await owner()
    const refused = await ask('GET', '/events?userId=a&userId=b&x=1&y=2&x=3')
    expect(refused.status).toBe(400)
    expect(refused.body.errors).toMatchObject([{ field: 'x' }, { field: 'y' }])
    const repeated = await ask('GET', '/events?userId=a&userId=b')
    expect(repeated.status).toBe(422)
    expect(repeated.body.errors).toMatchObject([{ field: 'userId' }])
  })

  it('is refused where an operation has no body', async () => {
    const { ask } = await owner()
    const key = 'd'
    await ask('POST', '/decisions', {
      key,
      variants: [{ key: 'a', value: 1 }],
      fallbackVariant: 'a',
      rules: [],
    })
    expect((await ask('POST', `/decisions/${key}/activate`, { version: 7 })).status).toBe(400)
    expect((await ask('POST', `/decisions/${key}/activate`, {})).status).toBe(200)
  })

  it('cannot promote an admin, move a project or take one from another tenant', async () => {
    const other = await someoneElse()
    const { projectId } = other
    const admin = await management.member(projectId, 'admin')
    const members = { updateMany: { where: { userId: admin.userId }, data: { role: 'owner' } } }
    expect((await admin.request('PATCH', `/api/projects/${projectId}`, { members })).status).toBe(422)
    const thief = await owner()
    const { tenantId } = other
    expect((await thief.request('PATCH', `/api/projects/${thief.projectId}`, { tenantId })).status).toBe(422)
    const projects = { connect: [{ id: projectId }] }
    expect((await thief.request('PATCH', '/api/tenant/profile', { projects })).status).toBe(422)
    const key = { projectId_userId: { projectId, userId: admin.userId } }
    expect(await management.db.prisma.projectMember.findUnique({ where: key })).toMatchObject({
      role: 'admin',
    })
    expect(await management.db.prisma.project.findUnique({ where: { id: projectId } })).toMatchObject({
      tenantId,
    })
  })

  it.each(['{"":1}', '{"__proto__":null}', '{"constructor":1}'])(
    'is refused with any name: %s',
    async (text) => {
      const { ask } = await owner()
      expect((await ask('PATCH', '', JSON.parse(text))).status).toBe(422)
    },
  )

  it.each(['null', '{}', '1'])('is refused in a schema as __proto__: %s', async (value) => {
    const { ask } = await owner()
    const { body } = await ask('POST', '/event-definitions', { name: 'seen', schema: {} })
    const schema = JSON.parse(`{"properties":{"__proto__":${value}}}`)
    const refused = await ask('PATCH', `/event-definitions/${body.id}`, { schema })
    expect(refused.status).toBe(422)
    expect(refused.body.errors).toMatchObject([{ rule: 'name' }])
  })

  it.each([
    ['PATCH', '', { name: ' \t\n' }, 'name'],
    ['POST', '/api-keys', { name: ' ', kind: 'sec', scopes: ['decide'] }, 'name'],
    ['POST', '/event-definitions', { name: ' ', schema: {} }, 'name'],
    ['POST', '/links', { destination: 'https://example.com', campaign: '  ' }, 'campaign'],
    ['POST', '/metering-selectors', { eventName: ' ' }, 'eventName'],
    ['PATCH', '/settings', { deniedTraits: [' '] }, 'deniedTraits.0'],
  ])('%s %s refuses white space as a name: %j', async (method, path, body, field) => {
    const { ask } = await owner()
    const refused = await ask(method, path, body)
    expect(refused.status).toBe(422)
    expect(refused.body.errors).toMatchObject([{ field }])
  })

  it('resets each setting to its default with null', async () => {
    const { ask } = await owner()
    const set = {
      ingestValidation: { mode: 'enforce', rejectUnknownEvents: true },
      ipStorage: 'drop',
      retentionDays: 30,
      archiveEvents: true,
      deniedTraits: ['ssn'],
      ingestRequestsPerMinute: 5,
      links: { appendClickId: false, attributionWindowDays: 7 },
    }
    expect((await ask('PATCH', '/settings', set)).body).toMatchObject(set)
    const part = {
      ingestValidation: { mode: null, rejectUnknownEvents: true },
      links: { appendClickId: null },
    }
    const { body } = await ask('PATCH', '/settings', part)
    expect(body).toMatchObject({ ingestValidation: { rejectUnknownEvents: true } })
    expect(body).not.toHaveProperty('links')
    expect(body).not.toHaveProperty('ingestValidation.mode')
    const unset = Object.fromEntries(Object.keys(set).map((name) => [name, null]))
    expect((await ask('PATCH', '/settings', unset)).body).toEqual({})
  })

  it('is refused beyond the limits of the retention', async () => {
    const { ask } = await owner()
    const set = (retentionDays: unknown) => ask('PATCH', '/settings', { retentionDays })
    for (const days of [1, 3_650]) expect((await set(days)).body).toMatchObject({ retentionDays: days })
    for (const days of [0, 3_651, 1.5, '30', -1]) {
      const refused = await set(days)
      expect(refused.status).toBe(422)
      expect(refused.body.errors).toMatchObject([{ field: 'retentionDays' }])
    }
    expect((await set(null)).body).not.toHaveProperty('retentionDays')
  })

  it('is reported with the allowed values of a setting and the received one', async () => {
    const { ask } = await owner()
    const refused = await ask('PATCH', '/settings', { ingestValidation: { mode: 'strict' } })
    expect(refused.body.error).toBe('ingestValidation.mode must be one of off, warn, enforce; got "strict"')
  })

  it('may be nested 50 levels deep where anything is allowed', async () => {
    const { ask } = await owner()
    const preview = (levels: number) => {
      let properties: unknown = 1
      for (let level = 1; level < levels; level++) properties = { properties }
      return ask('POST', '/email-triggers/preview', { subject: 's', html: 'h', properties })
    }
    // The body is one more level around the properties.
    expect((await preview(50)).status).toBe(200)
    const refused = await preview(51)
    expect(refused.status).toBe(422)
    expect(refused.body).toMatchObject({ errors: [{ rule: 'depth' }] })
  })
})
