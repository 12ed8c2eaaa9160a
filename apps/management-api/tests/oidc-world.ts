import { randomUUID } from 'node:crypto'
import type { AccountView } from '@waymark/contracts/http/account-parts'
import type { OidcProviderView, RoleMapping } from '@waymark/contracts/http/oidc'
import { hashPassword } from '@waymark/domain/account'
import {
  CLIENT_ID,
  CLIENT_SECRET,
  createJar,
  type Jar,
  type TestProvider,
  untilAvailable,
} from '@waymark/testing'
import type { ManagementOptions } from '../src/app.ts'
import { type Management, PASSWORD, startManagement } from './start-management.ts'

type Signed = { location: string; status: number }

/** The management API with a clock that can be moved, and DNS records that can be set. */
export const startOidcWorld = async (
  options: {
    oidc?: Partial<ManagementOptions['oidc']>
    registrationMode?: 'open' | 'invite' | 'closed'
    env?: Record<string, string>
  } = {},
) => {
  const records = new Map<string, string>()
  const state = { aheadMs: 0 }
  const management: Management = await startManagement({
    ...(options.env && { env: options.env }),
    registrationMode: options.registrationMode ?? 'open',
    oidc: {
      allowPrivateAddresses: true,
      resolveTxt: async (name) => {
        const value = records.get(name)
        if (value === undefined) throw Object.assign(new Error('not found'), { code: 'ENOTFOUND' })
        return [[value]]
      },
      ...options.oidc,
    },
    adapt: (platform) => ({ ...platform, clock: () => Date.now() + state.aheadMs }),
    arrange: (service) => ({ ...service, loops: [] }),
  })
  const { url } = management

  const call = (jar: Jar, method: string, path: string, body?: unknown): Promise<Response> =>
    untilAvailable(() =>
      jar.request(`${url}${path}`, {
        method,
        headers: { Origin: url, ...(body !== undefined && { 'Content-Type': 'application/json' }) },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      }),
    )
  const json = async <T = { [field: string]: unknown }>(response: Promise<Response>): Promise<T> =>
    (await (await response).json()) as T

  /** A new owner of a tenant and its first project, with a browser. */
  const owner = async (email = `${randomUUID()}@example.com`) => {
    const jar = createJar()
    const response = await call(jar, 'POST', '/api/auth/register', { email, password: PASSWORD, name: 'Ada' })
    if (response.status !== 201) throw new Error(`registration answered ${response.status}`)
    const account = (await response.json()) as AccountView
    return {
      jar,
      email,
      userId: account.user.id,
      tenantId: account.tenant?.id ?? '',
      projectId: account.projects[0]?.id ?? '',
    }
  }
  /** The same without registration. */
  const existingOwner = async () => {
    const email = `${randomUUID()}@example.com`
    const passwordHash = await hashPassword(PASSWORD)
    const user = await management.db.prisma.user.create({
      data: { id: randomUUID(), email, name: 'Ada', passwordHash },
    })
    const project = await management.db.prisma.project.create({
      data: {
        id: randomUUID(),
        name: 'Shop',
        tenant: { create: { id: randomUUID(), name: 'Shop' } },
        members: { create: { userId: user.id, role: 'owner' } },
      },
    })
    const jar = createJar()
    await call(jar, 'POST', '/api/auth/login', { email, password: PASSWORD })
    return { jar, email, userId: user.id, tenantId: project.tenantId, projectId: project.id }
  }
  type Owner = Awaited<ReturnType<typeof owner>>

  const addProvider = async (
    { jar }: Pick<Owner, 'jar'>,
    provider: TestProvider,
    roleMappings: RoleMapping[] = [],
    change: object = {},
  ): Promise<OidcProviderView> => {
    const body = {
      name: 'Company',
      issuer: provider.issuer,
      clientId: CLIENT_ID,
      clientSecret: CLIENT_SECRET,
      scopes: ['groups'],
      roleMappings,
      ...change,
    }
    const response = await call(jar, 'POST', '/api/tenant/oidc-providers', body)
    if (response.status !== 201) throw new Error(`provider: ${response.status} ${await response.text()}`)
    return (await response.json()) as OidcProviderView
  }

  const verifyDomain = async ({ jar }: Pick<Owner, 'jar'>, domain: string) => {
    const made = await json<{ id: string; recordName: string; recordValue: string }>(
      call(jar, 'POST', '/api/tenant/domains', { domain }),
    )
    records.set(made.recordName, made.recordValue)
    const { status } = await call(jar, 'POST', `/api/tenant/domains/${made.id}/verify`)
    if (status !== 200) throw new Error(`verification answered ${status}`)
    return made
  }

  /** Begins a sign-in. Resolves to the address at the provider. */
  const start = async (jar: Jar, providerId: string, next?: string) =>
    (await json<{ url: string }>(call(jar, 'POST', '/api/auth/oidc/sign-in', { providerId, next }))).url
  const startLink = async (jar: Jar, providerId: string, next?: string) =>
    (await json<{ url: string }>(call(jar, 'POST', '/api/auth/identities', { providerId, next }))).url

  const isCallback = (at: string) => new URL(at).pathname.endsWith('/callback')
  /** Signs in at the provider. Resolves to the path of the callback, which is not opened. */
  const atProvider = async (jar: Jar, startUrl: string): Promise<string> => {
    const { pathname, search } = new URL(await jar.follow(startUrl, isCallback))
    return `${pathname}${search}`
  }
  const finish = async (jar: Jar, callback: string): Promise<Signed> => {
    const response = await jar.request(`${url}${callback}`)
    return { status: response.status, location: response.headers.get('Location') ?? '' }
  }
  const signIn = async (jar: Jar, providerId: string, next?: string) =>
    finish(jar, await atProvider(jar, await start(jar, providerId, next)))
  const link = async (jar: Jar, providerId: string, next?: string) =>
    finish(jar, await atProvider(jar, await startLink(jar, providerId, next)))
  const logIn = async (email: string): Promise<Jar> => {
    const jar = createJar()
    await call(jar, 'POST', '/api/auth/login', { email, password: PASSWORD })
    return jar
  }

  return {
    management,
    db: management.db,
    url,
    records,
    state,
    call,
    json,
    statusOf: async (...args: Parameters<typeof call>) => (await call(...args)).status,
    owner,
    existingOwner,
    addProvider,
    verifyDomain,
    start,
    startLink,
    atProvider,
    finish,
    signIn,
    link,
    logIn,
    me: (jar: Jar) => json<AccountView>(call(jar, 'GET', '/api/auth/me')),
    stop: management.stop,
  }
}

export type OidcWorld = Awaited<ReturnType<typeof startOidcWorld>>
