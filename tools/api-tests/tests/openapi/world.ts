import { randomBytes } from 'node:crypto'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { ApiKeyScope } from '@waymark/contracts/api-key'
import { currencyOf } from '@waymark/contracts/currency'
import { createApiKey } from '@waymark/contracts/http/api-keys'
import { closeObjects } from '@waymark/contracts/http/close-objects'
import { listDeadLetters } from '@waymark/contracts/http/dead-letters'
import { answersOf } from '@waymark/contracts/http/openapi'
import type { Operation } from '@waymark/contracts/http/operation'
import { PLACEHOLDER_KEYWORD } from '@waymark/contracts/placeholder-id'
import { PATTERN_DESCRIPTION, VISIBLE_KEYWORD } from '@waymark/contracts/problem-message'
import type { ProjectRole } from '@waymark/contracts/project-role'
import { ingestRecords } from '@waymark/contracts/topics'
import { generateAccessToken, generateToken, hashPassword } from '@waymark/domain/account'
import { createDirectoryTransport, type MailTransport } from '@waymark/email-consumer'
import { quotasConfig } from '@waymark/management-api'
import { ensureDemoProject } from '@waymark/project-config'
import {
  createScope,
  embeddedPlatform,
  limitsConfig,
  type Platform,
  readConfig,
  startService,
} from '@waymark/service-kit'
import { createAllServices } from '@waymark/standalone'
import {
  anIngestRecord,
  createMemoryLog,
  createTestDatabase,
  eventually,
  PATIENCE_MS,
  startTcpProxy,
  untilAvailable,
} from '@waymark/testing'
import { webhookConfig } from '@waymark/webhook-dispatcher'
import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { generate } from 'otplib'
import type { TSchema } from 'typebox'
import { expect } from 'vitest'
import { LATER_VALUE, withLaterColumns } from './later-columns.ts'

/** A request to an operation. Missing parts default to those of a valid request. */
export type Call = {
  params?: Record<string, string>
  query?: Record<string, string>
  headers?: Record<string, string>
  /** Sent unchanged if it is a string or bytes, otherwise as JSON. */
  body?: unknown
  /** The key to send, `null` for none. */
  key?: string | null
}

export type Answer = { status: number; body: unknown; text: string; headers: Headers }

/** A signed-in user; requests with `headers` are theirs. */
type SignedIn = {
  headers: { Cookie: string; Origin: string }
  userId: string
  sessionId: string
  projectId: string
  email: string
  password: string
}

/** Every email to an address of this domain is rejected permanently. */
export const REFUSED_DOMAIN = 'refused.example.com'

const SESSION_MS = 3_600_000
const PASSWORD = 'what someone chose long ago'

/** Waymark in this process. Its responses are checked against the document. */
export type World = {
  /** Its URL. */
  baseUrl: string
  /** The key of the project. */
  apiKey: string
  /** Its log lines so far. */
  said: ReturnType<typeof createMemoryLog>['lines']
  db: Platform['db']
  projectId: string
  /** An existing project that this world's key does not belong to. */
  foreignProjectId: string
  /** A key with only these scopes. */
  keyWith: (scopes: ApiKeyScope[], kind?: 'pub' | 'sec') => Promise<string>
  /**
   * Registers a user with an address of `domain`: the owner of a new project, or a member of the given one, a viewer unless
   * there is a role.
   */
  signIn: (as?: { projectId: string; domain?: string; role?: ProjectRole }) => Promise<SignedIn>
  /** Calls an operation, and fails if the response is not documented. */
  call: (operation: Operation, call?: Call) => Promise<Answer>
  /** Creates a dead letter that would be processed now or fail again, and returns its id. */
  deadLetter: (kind: 'fit' | 'unfit') => Promise<string>
  /** Reads the email of a sent delivery. */
  mail: (deliveryId: string) => Promise<string>
  /** The TXT records of the DNS, by name. */
  txtRecords: Map<string, string>
  /** Links a user to a provider, with which a session of theirs began if it is given. Returns the id of the identity. */
  identity: (providerId: string, userId: string, sessionId?: string) => Promise<string>
  /** A header with an access token of a user. */
  accessToken: (userId: string) => Promise<{ Authorization: string }>
  /** Gives a user a second factor, and resolves to its secret. */
  secondFactor: (userId: string) => Promise<Uint8Array>
  /** A sign-in that waits for its second factor, and the code that finishes it. */
  challenge: () => Promise<{ headers: { Cookie: string; Origin: string }; body: { code: string } }>
  /** The token of an emailed link to a user. */
  emailedToken: (kind: 'reset_password' | 'verify_email', user: SignedIn) => Promise<string>
  /** Stops a decision of the project, as a guard does. */
  stopDecision: (key: string) => Promise<void>
  /** Counts each use of a rate limit `times` times during `work`. */
  countUses: <T>(times: number, work: () => Promise<T>) => Promise<T>
  /** Makes the database unavailable, and available again. */
  withoutDatabase: <T>(work: () => Promise<T>) => Promise<T>
  stop: () => Promise<void>
}

const ajv = new Ajv2020({ strict: true, allowUnionTypes: true })
addFormats.default(ajv)
ajv
  .addVocabulary([PATTERN_DESCRIPTION, PLACEHOLDER_KEYWORD, VISIBLE_KEYWORD])
  .addFormat('idn-email', true)
  .addFormat('currency', (text: string) => currencyOf(text) === text)

const closed = new Map<object, TSchema>()

/** The schema of an answer that refuses members that it does not declare. */
const closedSchema = (schema: TSchema): TSchema => {
  const known = closed.get(schema) ?? closeObjects(schema)
  closed.set(schema, known)
  return known
}

/** @throws when the response does not match the document, or has members that it does not name */
const expectDocumented = (operation: Operation, { status, body, headers, text }: Answer): void => {
  expect(text, operation.id).not.toContain(LATER_VALUE)
  const documented = answersOf(operation)[status]
  const what = `${operation.id} answered ${status}: ${text.slice(0, 300)}`
  if (!documented) throw new Error(`${what}, which is not documented`)
  const { schema, contentTypes = ['application/json'] } = documented
  if (!schema && !documented.contentTypes) {
    // Redirects and pages may have any body.
    if (status < 300) expect(text, what).toBe('')
    return
  }
  const [type] = (headers.get('Content-Type') ?? '').split(';')
  expect(contentTypes, what).toContain(type)
  if (!schema || type !== 'application/json') return
  // Errors may have further details.
  if (!ajv.validate(status < 400 ? closedSchema(schema) : schema, body))
    throw new Error(`${what}, which is documented otherwise: ${ajv.errorsText()}`)
}

const isRaw = (body: unknown): body is string | Buffer<ArrayBuffer> =>
  typeof body === 'string' || Buffer.isBuffer(body)

/** The response; of an endless stream the first piece. */
const bodyOf = async (response: Response): Promise<string> => {
  if (!response.headers.get('Content-Type')?.startsWith('text/event-stream')) return response.text()
  const reader = response.body?.getReader()
  const first = await reader?.read()
  await reader?.cancel()
  return new TextDecoder().decode(first?.value)
}

const refusing = (domain: string, transport: MailTransport): MailTransport => ({
  ...transport,
  send: async (mail, begin) =>
    mail.envelope.to.endsWith(`@${domain}`)
      ? { kind: 'refused', permanent: true, reason: 'No such mailbox' }
      : transport.send(mail, begin),
})

/**
 * Starts everything on a new database, with every limit of the deployment set to `limit`. Every table has a column that
 * no answer may show.
 */
export const startWorld = async (limit: number): Promise<World> => {
  const variables = Object.values(limitsConfig).map(({ variable }) => [variable, `${limit}`])
  const limits = readConfig(limitsConfig, Object.fromEntries(variables))
  const database = await createTestDatabase()
  const proxy = await startTcpProxy(database.url)
  const databaseUrl = Object.assign(new URL(database.url), { port: `${proxy.port}` }).href
  const log = createMemoryLog()
  const scope = createScope(log)
  const embedded = await embeddedPlatform({ databaseUrl, limits }, { name: 'openapi', log, scope })
  let usesAtOnce = 1
  const platform: Platform = {
    ...embedded,
    db: await withLaterColumns(embedded.db),
    rateLimiter: {
      ...embedded.rateLimiter,
      consume: async (use) => {
        for (let n = 1; n < usesAtOnce; n++) await embedded.rateLimiter.consume(use)
        return embedded.rateLimiter.consume(use)
      },
    },
  }
  const mailFolder = await mkdtemp(path.join(tmpdir(), 'waymark-mail-'))
  scope.onStop('mail', () => rm(mailFolder, { recursive: true }))
  const txtRecords = new Map<string, string>()
  const options: Parameters<typeof createAllServices>[1] = {
    shortLinkBaseUrl: 'http://localhost',
    publicUrl: 'http://localhost',
    oidc: {
      allowPrivateAddresses: true,
      resolveTxt: async (name) => [[txtRecords.get(name) ?? '']],
    },
    erasures: { secret: 's'.repeat(32), backupRetentionDays: 0 },
    quotas: readConfig(quotasConfig, {}),
    registrationMode: 'open',
    allowedSenders: [],
    mail: {
      transport: refusing(REFUSED_DOMAIN, createDirectoryTransport(mailFolder)),
      from: 'shop@example.com',
      publicUrl: 'http://localhost',
      secrets: ['a secret of this test'],
      allowedSenders: [],
      perHour: 1_000_000,
      connections: 1,
      timeoutMs: 1_000,
      retryAfterMs: 1_000,
    },
    webhooks: readConfig(webhookConfig, {}),
  }
  const service = createAllServices(platform, options, scope)
  const http = { port: 0, metricsPort: 0, trustedProxies: 0, deadlineMs: PATIENCE_MS }
  const { port } = await startService(service, http, platform, scope)
  const { projectId, apiKey } = await ensureDemoProject(platform.db)
  const { prisma } = platform.db
  // Its requests count towards the limits of the deployment.
  await prisma.apiKey.updateMany({ where: { projectId }, data: { requestsPerMinute: null } })
  /** A project of a new tenant. On a busy machine, a transaction may fail because it does not begin within 1.5 s. */
  const newProject = (name: string, tenant: string) =>
    eventually('the project is created', () =>
      prisma.project.create({
        data: {
          id: crypto.randomUUID(),
          name,
          tenant: { create: { id: crypto.randomUUID(), name: tenant } },
        },
      }),
    )
  const other = await newProject('Someone else’s', 'Someone else')

  // Inserted into the database, because registration and sign-in are limited.
  const passwordHash = await hashPassword(PASSWORD)
  const signIn: World['signIn'] = async (as) => {
    const { token, hash } = generateToken()
    const now = Date.now()
    const project = as?.projectId ?? (await newProject('Their own', 'Their own')).id
    const user = await eventually('the user is created', () =>
      prisma.user.create({
        data: {
          id: crypto.randomUUID(),
          email: `${crypto.randomUUID()}@${as?.domain ?? 'example.com'}`,
          name: 'Grace',
          passwordHash,
          memberships: { create: { projectId: project, role: as ? (as.role ?? 'viewer') : 'owner' } },
          sessions: {
            create: {
              id: crypto.randomUUID(),
              tokenHash: new Uint8Array(hash),
              lastSeenAt: new Date(now),
              expiresAt: new Date(now + SESSION_MS),
            },
          },
        },
        include: { sessions: true },
      }),
    )
    return {
      headers: { Cookie: `waymark_session=${token}`, Origin: `http://localhost:${port}` },
      userId: user.id,
      sessionId: user.sessions[0]?.id ?? '',
      projectId: project,
      email: user.email,
      password: PASSWORD,
    }
  }

  const secondFactor = async (userId: string): Promise<Uint8Array> => {
    const secret = new Uint8Array(randomBytes(20))
    await prisma.secondFactor.create({ data: { userId, secret, setUpAt: new Date() } })
    return secret
  }

  let letters = 0
  let away = false
  const call = async (operation: Operation, options: Call = {}): Promise<Answer> => {
    const { params = {}, query = {}, headers = {}, body, key = apiKey } = options
    const path = operation.path.replace(/\{(\w+)\}/g, (_, name: string) =>
      encodeURIComponent(params[name] ?? (name === 'projectId' ? projectId : crypto.randomUUID())),
    )
    const ask = () =>
      fetch(`http://localhost:${port}${path}?${new URLSearchParams(query)}`, {
        method: operation.method.toUpperCase(),
        redirect: 'manual',
        headers: {
          ...(key !== null && { 'X-API-Key': key }),
          ...(body !== undefined && { 'Content-Type': 'application/json' }),
          ...headers,
        },
        ...(body !== undefined && { body: isRaw(body) ? body : JSON.stringify(body) }),
      })
    const response = await (away ? ask() : untilAvailable(ask))
    const text = await bodyOf(response)
    const json = response.headers.get('Content-Type')?.startsWith('application/json')
    const answer = {
      status: response.status,
      headers: response.headers,
      text,
      body: json && text ? (JSON.parse(text) as unknown) : undefined,
    }
    expectDocumented(operation, answer)
    return answer
  }

  // Otherwise no answer could show them.
  const { rows } = await platform.db.pool.query('SELECT * FROM core.api_keys')
  for (const row of [rows[0], await prisma.apiKey.findFirst()])
    if (!Object.values(row ?? {}).includes(LATER_VALUE)) throw new Error('Rows have no later column')

  return {
    baseUrl: `http://localhost:${port}`,
    apiKey,
    said: log.lines,
    db: platform.db,
    projectId,
    foreignProjectId: other.id,
    call,
    signIn,
    keyWith: async (scopes, kind = 'sec') => {
      const { body } = await call(createApiKey, { body: { name: 'narrow', kind, scopes } })
      return (body as { key: string }).key
    },
    deadLetter: async (kind) => {
      const offset = BigInt(++letters)
      const value = Buffer.from(
        kind === 'fit'
          ? JSON.stringify(anIngestRecord({ projectId, event: { eventId: `dead letter ${offset}` } }))
          : '{',
      )
      const place = { consumerGroup: 'enrichment', topic: ingestRecords.name, partition: 0, offset }
      await prisma.deadLetter.create({
        data: { ...place, projectId, key: 'k', value, reason: 'a test', failedAt: new Date() },
      })
      const { body } = await call(listDeadLetters)
      const { data } = body as { data: { id: string; offset: string }[] }
      const found = data.find((letter) => letter.offset === `${offset}`)
      if (!found) throw new Error('the dead letter is not listed')
      return found.id
    },
    secondFactor,
    challenge: async () => {
      const { userId, headers } = await signIn()
      const code = await generate({ secret: await secondFactor(userId) })
      const { token, hash } = generateToken()
      await prisma.signInChallenge.create({
        data: {
          id: crypto.randomUUID(),
          userId,
          tokenHash: new Uint8Array(hash),
          expiresAt: new Date(Date.now() + SESSION_MS),
        },
      })
      return { headers: { ...headers, Cookie: `waymark_challenge=${token}` }, body: { code } }
    },
    mail: (deliveryId) => readFile(path.join(mailFolder, `${deliveryId}.eml`), 'utf8'),
    txtRecords,
    identity: async (providerId, userId, sessionId) => {
      const data = { id: crypto.randomUUID(), providerId, userId, subject: crypto.randomUUID() }
      const { id } = await prisma.userIdentity.create({ data })
      if (sessionId !== undefined)
        await prisma.session.update({ where: { id: sessionId }, data: { identityId: id } })
      return id
    },
    accessToken: async (userId) => {
      const { token, hash } = generateAccessToken()
      const expiresAt = new Date(Date.now() + SESSION_MS)
      const data = { id: crypto.randomUUID(), userId, name: 'A script', allProjects: true, expiresAt }
      await prisma.accessToken.create({ data: { ...data, tokenHash: new Uint8Array(hash) } })
      return { Authorization: `Bearer ${token}` }
    },
    emailedToken: async (kind, { userId, email }) => {
      const { token, hash } = generateToken()
      await prisma.accountMail.create({
        data: {
          id: crypto.randomUUID(),
          kind,
          recipient: email,
          userId,
          tokenHash: new Uint8Array(hash),
          tokenExpiresAt: new Date(Date.now() + SESSION_MS),
        },
      })
      return token
    },
    stopDecision: async (key) => {
      const stop = {
        metric: 'Ordered',
        worseThan: 10,
        action: 'hold',
        at: new Date().toISOString(),
        variant: 'on',
        control: 'off',
        percentage: 5,
        people: { variant: 600, control: 600 },
        value: { variant: 0.1, control: 0.5 },
        lift: -0.8,
        interval: [-0.9, -0.7],
      }
      const states = { production: { ramp: { countedFrom: stop.at, stop } } }
      await prisma.decision.update({ where: { projectId_key: { projectId, key } }, data: { states } })
    },
    countUses: async (times, work) => {
      usesAtOnce = times
      try {
        return await work()
      } finally {
        usesAtOnce = 1
      }
    },
    withoutDatabase: async (work) => {
      await proxy.cut()
      away = true
      try {
        return await work()
      } finally {
        away = false
        await proxy.restore()
      }
    },
    stop: async () => {
      await scope.dispose()
      await proxy.stop()
      await database.drop()
    },
  }
}
