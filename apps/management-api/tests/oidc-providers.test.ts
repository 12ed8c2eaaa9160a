import { randomUUID } from 'node:crypto'
import type { Server } from 'node:http'
import {
  MAX_OIDC_PROVIDERS,
  MAX_TENANT_DOMAINS,
  type OidcProviderView,
  type TenantDomainView,
} from '@waymark/contracts/http/oidc'
import {
  CLIENT_SECRET,
  createJar,
  listen,
  services,
  startProvider,
  type TestProvider,
} from '@waymark/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type OidcWorld, startOidcWorld } from './oidc-world.ts'

const PROVIDERS = '/api/tenant/oidc-providers'
const DOMAINS = '/api/tenant/domains'

describe.skipIf(!services)('the providers of a tenant', () => {
  let world: OidcWorld
  let idp: TestProvider
  const servers: Server[] = []

  beforeAll(async () => {
    world = await startOidcWorld()
    idp = await startProvider()
  })
  afterAll(async () => {
    for (const server of servers) {
      server.closeAllConnections()
      server.close()
    }
    await idp?.stop()
    await world?.stop()
  })

  /** A server whose metadata are those of a provider, with a change. Without `answers`, it never answers. */
  const pretender = async (change: (own: string) => object, answers = true): Promise<string> => {
    const { server, url } = await listen((_request, response) => {
      const metadata = {
        issuer: url,
        authorization_endpoint: `${url}/authorize`,
        token_endpoint: `${url}/token`,
        jwks_uri: `${url}/keys`,
        response_types_supported: ['code'],
        ...change(url),
      }
      response.setHeader('Content-Type', 'application/json')
      if (answers) response.end(JSON.stringify(metadata))
    })
    servers.push(server)
    return url
  }
  const create = async (jar: ReturnType<typeof createJar>, change: object) => {
    const body = { name: 'Company', clientId: 'waymark', issuer: idp.issuer, ...change }
    const response = await world.call(jar, 'POST', PROVIDERS, body)
    return { status: response.status, body: (await response.json()) as OidcProviderView & { error?: string } }
  }

  it('are created, listed, changed and removed, and never show their secret', async () => {
    const owner = await world.owner()
    const roleMappings = [{ projectId: owner.projectId, group: null, role: 'viewer' as const }]
    const made = await world.addProvider(owner, idp, roleMappings)
    expect(made).toEqual({
      id: expect.any(String),
      name: 'Company',
      issuer: idp.issuer,
      clientId: 'waymark',
      hasClientSecret: true,
      scopes: ['groups'],
      groupsClaim: 'groups',
      roleMappings,
      redirectUri: `http://localhost/api/auth/oidc/${made.id}/callback`,
      backchannelLogoutUri: `http://localhost/api/auth/oidc/${made.id}/backchannel-logout`,
      createdAt: expect.any(String),
      updatedAt: expect.any(String),
    })
    const listed = await (await world.call(owner.jar, 'GET', PROVIDERS)).text()
    expect(JSON.parse(listed)).toEqual({ data: [made] })
    expect(listed).not.toContain(CLIENT_SECRET)
    const changed = await world.json<OidcProviderView>(
      world.call(owner.jar, 'PATCH', `${PROVIDERS}/${made.id}`, { name: 'Renamed', clientSecret: null }),
    )
    expect(changed).toMatchObject({ name: 'Renamed', hasClientSecret: false, issuer: idp.issuer })
    expect(
      await world.statusOf(owner.jar, 'PATCH', `${PROVIDERS}/${made.id}`, { issuer: 'https://evil.example' }),
    ).toBe(422)
    expect(await world.statusOf(owner.jar, 'DELETE', `${PROVIDERS}/${made.id}`)).toBe(204)
    expect(await world.json(world.call(owner.jar, 'GET', PROVIDERS))).toEqual({ data: [] })
    const audit = await world.json<{ data: { operation: string }[] }>(
      world.call(owner.jar, 'GET', `/api/projects/${owner.projectId}/audit-log`),
    )
    expect(audit.data.map(({ operation }) => operation)).toEqual([
      'deleteOidcProvider',
      'updateOidcProvider',
      'createOidcProvider',
      'register',
    ])
  })

  it('are those of the own tenant, and for owners only', async () => {
    const owner = await world.owner()
    const stranger = await world.owner()
    const { id } = await world.addProvider(owner, idp)
    const { id: domainId } = await world.json<TenantDomainView>(
      world.call(owner.jar, 'POST', DOMAINS, { domain: `${randomUUID()}.example` }),
    )
    const member = await world.management.member(owner.projectId, 'admin')
    const asMember = (method: string, path: string, body?: object) =>
      member.request(method, `${path}?tenantId=${owner.tenantId}`, body).then(({ status }) => status)
    const calls: [string, string, object?][] = [
      ['GET', PROVIDERS],
      ['POST', PROVIDERS, { name: 'x', issuer: idp.issuer, clientId: 'x' }],
      ['PATCH', `${PROVIDERS}/${id}`, { name: 'x' }],
      ['DELETE', `${PROVIDERS}/${id}`],
      ['GET', DOMAINS],
      ['POST', DOMAINS, { domain: 'shop.example' }],
      ['POST', `${DOMAINS}/${domainId}/verify`],
      ['DELETE', `${DOMAINS}/${domainId}`],
      ['GET', '/api/tenant/sign-in-policy'],
      ['PATCH', '/api/tenant/sign-in-policy', { oidcOnly: true }],
    ]
    for (const [method, path, body] of calls) {
      expect([path, await asMember(method, path, body)]).toEqual([path, 403])
      const foreign = `${path}?tenantId=${owner.tenantId}`
      expect([path, await world.statusOf(stranger.jar, method, foreign, body)]).toEqual([path, 404])
    }
    for (const [method, path, body] of calls.filter(
      ([, path]) => path.includes(id) || path.includes(domainId),
    ))
      expect([path, await world.statusOf(stranger.jar, method, path, body)]).toEqual([path, 404])
  })

  it('give roles only in projects that the caller owns', async () => {
    const owner = await world.owner()
    const stranger = await world.owner()
    // Another project of the tenant, with another owner.
    const { id: otherId } = await world.db.prisma.project.create({
      data: {
        id: randomUUID(),
        tenantId: owner.tenantId,
        name: 'Other',
        members: { create: { userId: stranger.userId, role: 'owner' } },
      },
    })
    const foreign = { projectId: otherId, group: null, role: 'owner' }
    for (const mapping of [
      foreign,
      { ...foreign, projectId: stranger.projectId },
      { ...foreign, projectId: randomUUID() },
    ])
      expect(await create(owner.jar, { roleMappings: [mapping] })).toMatchObject({
        status: 422,
        body: { error: expect.stringMatching(/^roleMappings may change only for projects/) },
      })
    const { id } = await world.addProvider(owner, idp)
    const path = `${PROVIDERS}/${id}?tenantId=${owner.tenantId}`
    expect(await world.statusOf(stranger.jar, 'PATCH', path, { roleMappings: [foreign] })).toBe(200)
    const own = { projectId: owner.projectId, group: 'eng', role: 'editor' }
    // The mappings of the other project stay as they are.
    expect(await world.statusOf(owner.jar, 'PATCH', path, { roleMappings: [own, foreign] })).toBe(200)
    expect(await world.statusOf(owner.jar, 'PATCH', path, { roleMappings: [own] })).toBe(422)
    expect(
      await world.statusOf(owner.jar, 'PATCH', path, { roleMappings: [own, { ...foreign, role: 'viewer' }] }),
    ).toBe(422)
  })

  it.each([
    'ftp://login.example',
    'login.example',
    'javascript:alert(1)',
    'https://user:password@login.example',
    'https://login.example?x=y',
    'https://login.example#x',
    'https://login.example/.well-known/openid-configuration',
  ])('cannot have the issuer %s', async (issuer) => {
    const { jar } = await world.owner()
    expect(await create(jar, { issuer })).toMatchObject({
      status: 422,
      body: { error: expect.stringMatching(/^issuer/) },
    })
  })

  it('must report their own issuer, and addresses of the web', async () => {
    const { jar } = await world.owner()
    for (const change of [
      () => ({ issuer: 'https://accounts.google.com' }),
      () => ({ issuer: undefined }),
      () => ({ authorization_endpoint: 'javascript:alert(document.domain)' }),
      () => ({ authorization_endpoint: undefined }),
      () => ({ token_endpoint: 'file:///etc/passwd' }),
      () => ({ jwks_uri: undefined }),
    ]) {
      const { status, body } = await create(jar, { issuer: await pretender(change) })
      expect([status, body.error]).toEqual([422, expect.stringMatching(/^issuer cannot be used/)])
    }
    expect((await create(jar, { issuer: await pretender(() => ({})) })).status).toBe(201)
  })

  it('must answer in time, with at most 512 KiB, and without redirects', async () => {
    const { jar } = await world.owner()
    const slow = await create(jar, { issuer: await pretender(() => ({}), false) })
    expect(slow.body.error).toMatch(/it did not answer in time/)
    const long = (bytes: number) => pretender(() => ({ filler: 'x'.repeat(bytes) }))
    expect((await create(jar, { issuer: await long(500 * 1024) })).status).toBe(201)
    expect((await create(jar, { issuer: await long(513 * 1024) })).status).toBe(422)
    const { server, url } = await listen((_request, response) =>
      response.writeHead(302, { Location: `${idp.issuer}/.well-known/openid-configuration` }).end(),
    )
    servers.push(server)
    idp.requests.length = 0
    expect((await create(jar, { issuer: url })).status).toBe(422)
    expect(idp.requests).toEqual([])
  })

  it('are at most 20', async () => {
    const owner = await world.owner()
    for (let n = 1; n <= MAX_OIDC_PROVIDERS; n += 1) await world.addProvider(owner, idp)
    expect(await create(owner.jar, {})).toMatchObject({
      status: 422,
      body: { error: expect.stringMatching(/more than 20 providers/) },
    })
  })

  it('have domains that are verified by DNS, each once and at most 50', async () => {
    const owner = await world.owner()
    const { jar } = owner
    const domain = `${randomUUID()}.example`
    const made = await world.json<TenantDomainView>(
      world.call(jar, 'POST', DOMAINS, { domain: domain.toUpperCase() }),
    )
    expect(made).toMatchObject({
      domain,
      recordName: `_waymark.${domain}`,
      recordValue: expect.stringMatching(/^waymark-domain=[\w-]{43}$/),
      verifiedAt: null,
    })
    const found = async () =>
      world.json(world.call(createJar(), 'GET', `/api/auth/oidc/providers?domain=${domain}`))
    const { id } = await world.addProvider(owner, idp)
    expect(await world.statusOf(jar, 'POST', DOMAINS, { domain })).toBe(422)
    expect(await world.statusOf(jar, 'POST', DOMAINS, { domain: 'not a domain' })).toBe(422)
    expect(await world.statusOf(jar, 'POST', `${DOMAINS}/${made.id}/verify`)).toBe(422)
    world.records.set(made.recordName, `${made.recordValue}x`)
    expect(await world.statusOf(jar, 'POST', `${DOMAINS}/${made.id}/verify`)).toBe(422)
    expect(await found()).toEqual({ data: [] })
    world.records.set(made.recordName, made.recordValue)
    expect(await world.json(world.call(jar, 'POST', `${DOMAINS}/${made.id}/verify`))).toMatchObject({
      verifiedAt: expect.any(String),
    })
    expect(await found()).toEqual({ data: [{ id, name: 'Company' }] })
    for (let n = 2; n <= MAX_TENANT_DOMAINS; n += 1)
      expect(await world.statusOf(jar, 'POST', DOMAINS, { domain: `${n}.${domain}` })).toBe(201)
    expect(await world.statusOf(jar, 'POST', DOMAINS, { domain: `51.${domain}` })).toBe(422)
    expect(await world.statusOf(jar, 'DELETE', `${DOMAINS}/${made.id}`)).toBe(204)
    expect(await found()).toEqual({ data: [] })
  })
})

describe.skipIf(!services)('where private addresses are not allowed', () => {
  it('a provider is refused whose address is private, or has no TLS', async () => {
    const resolved: string[] = []
    const world = await startOidcWorld({
      oidc: {
        allowPrivateAddresses: false,
        resolveHost: async (name) => {
          resolved.push(name)
          return ['10.0.0.1']
        },
      },
    })
    const { jar } = await world.owner()
    for (const [issuer, reason] of [
      ['https://127.0.0.1:9', /private, loopback/],
      ['https://[::1]', /private, loopback/],
      ['https://169.254.169.254', /private, loopback/],
      ['https://login.shop.example', /private, loopback/],
      ['http://login.shop.example', /must be an https URL/],
    ] as const) {
      const body = { name: 'x', clientId: 'x', issuer }
      const { error } = await world.json<{ error: string }>(world.call(jar, 'POST', PROVIDERS, body))
      expect(error).toMatch(reason)
    }
    expect(resolved).toEqual(['login.shop.example'])
    await world.stop()
  })
})
