import { ensureDemoProject } from '@waymark/project-config'
import {
  createScope,
  embeddedPlatform,
  limitsConfig,
  type Platform,
  readConfig,
  startService,
} from '@waymark/service-kit'
import { createMemoryLog, createTestDatabase, PATIENCE_MS, untilAvailable } from '@waymark/testing'
import { createManagementApi, quotasConfig } from '../src/app.ts'

export type Json = { [field: string]: unknown }
export type Reply = { status: number; body: Json; etag: string; headers: Headers }
export type Page = { data: Json[]; nextCursor: string | null }

/** The management API on a separate database, with a project and a key with all scopes. */
export type World = {
  platform: Platform
  projectId: string
  manage: (
    method: string,
    resource: string,
    body?: unknown,
    headers?: Record<string, string>,
  ) => Promise<Reply>
  /** Requests a streamed response. */
  read: (resource: string, signal?: AbortSignal) => Promise<Response>
  /** Reads a body that is not JSON. */
  text: (resource: string) => Promise<string>
  /** All pages of a list. `between` runs between two pages. */
  readAll: (resource: string, limit: number, between?: () => Promise<unknown>) => Promise<Json[]>
  stop: () => Promise<void>
}

export const startWorld = async (env: Record<string, string> = {}): Promise<World> => {
  const database = await createTestDatabase()
  const log = createMemoryLog()
  const scope = createScope(log)
  const limits = readConfig(limitsConfig, {})
  const platform = await embeddedPlatform(
    { databaseUrl: database.url, limits },
    { name: 'management', log, scope },
  )
  const http = { port: 0, metricsPort: 0, trustedProxies: 0, deadlineMs: PATIENCE_MS }
  const { port } = await startService(
    createManagementApi(platform, {
      shortLinkBaseUrl: 'http://localhost',
      publicUrl: 'http://localhost',
      oidc: { allowPrivateAddresses: false },
      erasures: { secret: 's'.repeat(32), backupRetentionDays: 0 },
      quotas: readConfig(quotasConfig, env),
      registrationMode: 'open',
      allowedSenders: [],
    }),
    http,
    platform,
    scope,
  )
  const { projectId, apiKey } = await ensureDemoProject(platform.db)

  const manage: World['manage'] = async (method, resource, body, headers = {}) => {
    const response = await untilAvailable(() =>
      fetch(`http://localhost:${port}/api/projects/${projectId}/${resource}`, {
        method,
        headers: { 'X-API-Key': apiKey, 'Content-Type': 'application/json', ...headers },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      }),
    )
    const text = await response.text()
    return {
      status: response.status,
      body: text === '' ? {} : (JSON.parse(text) as Json),
      etag: response.headers.get('ETag') ?? '',
      headers: response.headers,
    }
  }

  const read: World['read'] = (resource, signal) =>
    fetch(`http://localhost:${port}/api/projects/${projectId}/${resource}`, {
      headers: { 'X-API-Key': apiKey },
      ...(signal && { signal }),
    })

  return {
    platform,
    projectId,
    manage,
    read,
    text: async (resource) => {
      const response = await read(resource)
      const text = await response.text()
      if (response.status !== 200) throw new Error(`${resource} answered ${response.status}: ${text}`)
      return text
    },
    readAll: async (resource, limit, between = async () => {}) => {
      const found: Json[] = []
      const separator = resource.includes('?') ? '&' : '?'
      for (let cursor: string | null = ''; cursor !== null; ) {
        const { status, body } = await manage(
          'GET',
          `${resource}${separator}limit=${limit}${cursor && `&cursor=${cursor}`}`,
        )
        if (status !== 200) throw new Error(`${resource} answered ${status}: ${JSON.stringify(body)}`)
        const page = body as Page
        found.push(...page.data)
        cursor = page.nextCursor
        await between()
      }
      return found
    },
    stop: async () => {
      await scope.dispose()
      await database.drop()
    },
  }
}
