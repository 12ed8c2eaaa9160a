import { randomUUID } from 'node:crypto'
import { type ApiKeyScope, apiKeyScopes } from '@waymark/contracts/api-key'
import { constantEffects } from '@waymark/contracts/http/effects'
import { operations } from '@waymark/contracts/http/operations'
import { projectRoles, scopeForRole } from '@waymark/contracts/project-role'
import { generateToken } from '@waymark/domain/account'
import type { Route } from '@waymark/service-kit'
import { services } from '@waymark/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { RECENT_MS } from '../src/http/reauthentication.ts'
import { type CallerName, callers, expectedStatus, permissions } from './permissions-table.ts'
import { renderPermissions } from './render-permissions.ts'
import { type Management, startManagement } from './start-management.ts'

/** No operation answers it. A successful status would have to be declared. */
const REACHED = 418

/** The same route with its check of the caller, and a handler that only reports that it was reached. */
const stopShort = (route: Route): Route => ({ ...route, handler: () => ({ status: REACHED }) })

describe.skipIf(!services)('the permissions of the management API', () => {
  let management: Management
  let served: string[] = []
  let projectId = ''
  let secret = ''
  const headers = new Map<CallerName | 'owner long ago', Record<string, string>>()

  beforeAll(async () => {
    management = await startManagement({
      arrange: (service) => {
        const routes = service.routes ?? []
        // The console's files and pages contain no data and are not operations.
        served = routes
          .filter(({ operation }) => !/^\/(console|shared)/.test(operation.path))
          .map(({ operation }) => idOf(operation))
        // The last caller also sends unreadable bodies.
        const open = new Set(['register', 'updateProject', 'createAccessToken', 'createProject'])
        return {
          ...service,
          routes: routes.map((route) => (open.has(idOf(route.operation)) ? route : stopShort(route))),
        }
      },
    })
    const owner = await management.register()
    projectId = owner.account.projects[0]?.id ?? ''
    const foreign = await management.register()
    const foreignProject = foreign.account.projects[0]?.id ?? ''
    headers.set('no credentials', {})
    headers.set('owner', { Cookie: owner.cookie })
    const old = await management.member(projectId, 'owner')
    headers.set('owner long ago', { Cookie: old.cookie })
    await management.db.prisma.session.updateMany({
      where: { userId: old.userId },
      data: { verifiedAt: new Date(Date.now() - RECENT_MS) },
    })
    headers.set('foreign user', { Cookie: foreign.cookie })
    const tokenFor = async (projectIds: string[] | null) => {
      const body = { name: 'A script', projectIds, expiresAt: new Date(Date.now() + 3_600_000).toISOString() }
      const response = await owner.request('POST', '/api/auth/access-tokens', body)
      return { Authorization: `Bearer ${((await response.json()) as { token: string }).token}` }
    }
    const other = await owner.request('POST', '/api/projects', { name: 'Another' })
    headers.set('access token', await tokenFor([projectId]))
    headers.set('token of another project', await tokenFor([((await other.json()) as { id: string }).id]))
    headers.set('foreign key', { 'X-API-Key': await management.key(foreignProject) })
    for (const role of projectRoles.filter((role) => role !== 'owner'))
      headers.set(role, { Cookie: (await management.member(projectId, role)).cookie })
    const { token, hash } = generateToken()
    secret = token
    await management.db.prisma.share.create({
      data: {
        id: randomUUID(),
        projectId,
        kind: 'web',
        name: 'All',
        secretHash: new Uint8Array(hash),
        frameHosts: [],
      },
    })
    for (const scope of apiKeyScopes)
      headers.set(`key ${scope}`, { 'X-API-Key': await management.key(projectId, [scope]) })
  })
  afterAll(() => management?.stop())

  const idOf = ({ method, path }: Route['operation']): string =>
    operations.find((operation) => operation.method === method && operation.path === path)?.id ??
    `${method} ${path}`

  const ask = (id: string, caller: CallerName | 'owner long ago', project = projectId): Promise<Response> => {
    const operation = operations.find((known) => known.id === id)
    if (!operation) throw new Error(`no operation ${id}`)
    const type = operation.body ? 'application/json' : operation.consumes?.[0]
    const path = operation.path
      .replace('{projectId}', project)
      // Anyone with the secret may see what it shares.
      .replace('/api/shared/{key}', `/api/shared/${secret}`)
      .replace(/\{\w+\}/g, () => randomUUID())
    return fetch(`${management.url}${path}`, {
      method: operation.method.toUpperCase(),
      headers: {
        Origin: management.url,
        ...headers.get(caller),
        ...(type && { 'Content-Type': type }),
      },
      ...(type && { body: '{}' }),
    })
  }

  it('list every served operation and no other', () => {
    expect(Object.keys(permissions).toSorted()).toEqual(served.toSorted())
  })

  // Their handlers are called, and create what the callers need.
  const creating = new Set(['register', 'createAccessToken', 'createProject'])
  it.each(Object.keys(permissions).filter((id) => !creating.has(id)))('%s', async (id) => {
    const expectation = permissions[id] ?? 'anyone'
    const answered: Record<string, number> = {}
    const expected: Record<string, number> = {}
    for (const caller of callers) {
      const { status } = await ask(id, caller)
      answered[caller] = status === REACHED ? 200 : status
      expected[caller] = expectedStatus(expectation, caller)
    }
    expect(answered).toEqual(expected)
  })

  it.each(Object.keys(permissions).filter((id) => !creating.has(id)))('%s in an old session', async (id) => {
    const response = await ask(id, 'owner long ago')
    const { effects } = operations.find((operation) => operation.id === id) ?? {}
    if (constantEffects(effects).length === 0) return expect([200, REACHED]).toContain(response.status)
    expect([response.status, await response.json()]).toEqual([
      403,
      { error: expect.any(String), code: 'reauthentication_required', method: 'password' },
    ])
  })

  it('answers foreign, missing and invalid projects with the same body', async () => {
    for (const caller of ['foreign user', 'foreign key'] as const) {
      const bodies = await Promise.all(
        [projectId, randomUUID(), 'nonsense'].map(async (project) => {
          const response = await ask('updateProject', caller, project)
          return [response.status, await response.json()]
        }),
      )
      expect(bodies).toEqual(Array(3).fill([404, { error: 'Not found' }]))
    }
  })

  it('names the ways to send a key when there is none', async () => {
    const keyed =
      'Missing or invalid session or API key: sign in, or send a key as X-API-Key or as Authorization: Bearer'
    for (const [id, error] of [
      ['updateProject', keyed],
      ['getTenantProfile', keyed],
      ['getAccount', 'Missing or invalid session'],
    ] as const) {
      const response = await ask(id, 'no credentials')
      expect([response.status, await response.json()]).toEqual([401, { error }])
    }
  })

  it('names the missing scope or role', async () => {
    const byKey = await ask('updateProject', 'key manage:write')
    expect(await byKey.json()).toEqual({ error: expect.any(String), requiredScope: 'manage:admin' })
    const bySession = await ask('updateProject', 'editor')
    expect(await bySession.json()).toEqual({ error: expect.any(String), requiredRole: 'admin' })
    const ownerOnly = await ask('archiveProject', 'key manage:admin')
    expect(await ownerOnly.json()).toEqual({ error: expect.any(String), requiredRole: 'owner' })
  })

  it('refuses before reading the body', async () => {
    const broken = (caller: CallerName) =>
      fetch(`${management.url}/api/projects/${projectId}`, {
        method: 'PATCH',
        headers: { Origin: management.url, ...headers.get(caller), 'Content-Type': 'application/json' },
        body: '{',
      })
    expect((await broken('no credentials')).status).toBe(401)
    expect((await broken('viewer')).status).toBe(403)
    expect((await broken('foreign user')).status).toBe(404)
    expect((await broken('owner')).status).toBe(400)
  })
})

it('are documented in docs/permissions.md', async () => {
  await expect(renderPermissions(operations)).toMatchFileSnapshot('../../../docs/permissions.md')
})

it('include each scope that corresponds to a role', () => {
  const scopes = Object.values(scopeForRole).filter((scope): scope is ApiKeyScope => scope !== null)
  expect(apiKeyScopes).toEqual(expect.arrayContaining(scopes))
})
