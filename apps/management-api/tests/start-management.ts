import { randomUUID } from 'node:crypto'
import { type ApiKeyScope, apiKeyScopes } from '@waymark/contracts/api-key'
import type { AccountView } from '@waymark/contracts/http/account-parts'
import type { ProjectRole } from '@waymark/contracts/project-role'
import { type Database, openDatabase } from '@waymark/database'
import { generateApiKey } from '@waymark/domain/key'
import {
  createScope,
  embeddedPlatform,
  limitsConfig,
  type Platform,
  readConfig,
  startService,
} from '@waymark/service-kit'
import {
  createMemoryLog,
  createTestDatabase,
  PATIENCE_MS,
  type TestDatabase,
  untilAvailable,
} from '@waymark/testing'
import {
  createManagementApi,
  type ManagementOptions,
  quotasConfig,
  type RegistrationMode,
} from '../src/app.ts'

/** A browser: keeps its cookie and sends the origin of its page. */
export type Browser = {
  /** The cookie as sent. */
  cookie: string
  request(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Response>
}

/** The management API on a separate database, in this process. */
export type Management = {
  url: string
  db: Database
  platform: Platform
  browser(): Browser
  /** A browser of a newly registered user. */
  register(email?: string): Promise<Browser & { account: AccountView; password: string }>
  /** A browser of a new user who is a member of a project. */
  member(projectId: string, role: ProjectRole): Promise<Browser & { userId: string; email: string }>
  /** A server key of a project. */
  key(projectId: string, scopes?: readonly ApiKeyScope[]): Promise<string>
  stop(): Promise<void>
}

export const PASSWORD = 'a horse, a battery and 4 staples'

type Options = {
  env?: Record<string, string>
  trustedProxies?: number
  registrationMode?: RegistrationMode
  oidc?: ManagementOptions['oidc']
  erasures?: ManagementOptions['erasures']
  shortLinkBaseUrl?: string
  /** The database server, if not the shared one. */
  database?: TestDatabase
  /** Whether browsers repeat what is answered 503. */
  repeats503?: boolean
  /** Changes the platform before the app is created. */
  adapt?: (platform: Platform) => Platform
  /** Changes the service before it starts. */
  arrange?: (service: ReturnType<typeof createManagementApi>) => ReturnType<typeof createManagementApi>
}

const MANY = {
  LIMIT_REGISTER_PER_HOUR: '1000000',
  LIMIT_SIGN_IN_PER_MINUTE: '1000000',
  LIMIT_SIGN_IN_FAILURES: '1000000',
  LIMIT_ACCOUNT_MAILS_PER_HOUR: '1000000',
}

/** Starts it. Limits are high unless `env` lowers them. */
export const startManagement = async ({
  env = {},
  trustedProxies = 0,
  registrationMode = 'open',
  oidc = { allowPrivateAddresses: false },
  erasures = { secret: '', backupRetentionDays: 0 },
  shortLinkBaseUrl = 'http://localhost',
  database: given,
  repeats503 = true,
  adapt = (platform) => platform,
  arrange = (service) => service,
}: Options = {}): Promise<Management> => {
  const database = given ?? (await createTestDatabase())
  const log = createMemoryLog()
  const scope = createScope(log)
  const limits = readConfig(limitsConfig, { ...MANY, ...env })
  const platform = adapt(
    await embeddedPlatform({ databaseUrl: database.url, limits }, { name: 'test', log, scope }),
  )
  const quotas = readConfig(quotasConfig, env)
  const service = arrange(
    createManagementApi(platform, {
      shortLinkBaseUrl,
      publicUrl: 'http://localhost',
      oidc,
      erasures,
      quotas,
      registrationMode,
      allowedSenders: ['allowed.example'],
    }),
  )
  const http = { port: 0, metricsPort: 0, trustedProxies, deadlineMs: PATIENCE_MS }
  const { port } = await startService(service, http, platform, scope)
  const url = `http://localhost:${port}`
  const db = openDatabase({ url: database.url, poolSize: 4, applicationName: 'test', onError: () => {} })

  const browser = (): Browser => {
    const self: Browser = {
      cookie: '',
      request: async (method, path, body, headers = {}) => {
        const ask = () =>
          fetch(`${url}${path}`, {
            method,
            headers: {
              Origin: url,
              ...(self.cookie && { Cookie: self.cookie }),
              ...(body !== undefined && { 'Content-Type': 'application/json' }),
              ...headers,
            },
            ...(body !== undefined && { body: JSON.stringify(body) }),
          })
        const response = await (repeats503 ? untilAvailable(ask) : ask())
        const [set] = response.headers.getSetCookie()
        if (set !== undefined) self.cookie = set.split(';', 1)[0] ?? ''
        return response
      },
    }
    return self
  }

  const register = async (email = `${randomUUID()}@example.com`) => {
    const one = browser()
    const body = { email, password: PASSWORD, name: 'Ada' }
    const response = await untilAvailable(() => one.request('POST', '/api/auth/register', body))
    if (response.status !== 201) throw new Error(`registration: ${response.status} ${await response.text()}`)
    return Object.assign(one, { account: (await response.json()) as AccountView, password: PASSWORD })
  }

  return {
    url,
    db,
    platform,
    browser,
    register,
    member: async (projectId, role) => {
      const one = await register()
      const { id: userId, email } = one.account.user
      await db.prisma.projectMember.create({ data: { projectId, userId, role } })
      return Object.assign(one, { userId, email })
    },
    key: async (projectId, scopes = apiKeyScopes) => {
      const { key, keyId, secretHash } = generateApiKey('sec')
      await db.prisma.apiKey.create({
        data: {
          id: randomUUID(),
          keyId,
          projectId,
          name: 'A key',
          kind: 'sec',
          scopes: [...scopes],
          secretHash: new Uint8Array(secretHash),
        },
      })
      return key
    },
    stop: async () => {
      await scope.dispose()
      await db.close()
      await database.drop()
    },
  }
}
