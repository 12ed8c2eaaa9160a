import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import type { ApiKeyScope } from '@waymark/contracts/api-key'
import { revokeApiKey } from '@waymark/contracts/http/api-keys'
import { changeMember, removeMember } from '@waymark/contracts/http/members'
import type { Operation } from '@waymark/contracts/http/operation'
import { operations } from '@waymark/contracts/http/operations'
import { type ProjectRole, scopeForRole } from '@waymark/contracts/project-role'
import { generateApiKey } from '@waymark/domain/key'
import { eventually, services } from '@waymark/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { examples } from './openapi/examples.ts'
import { type Call, startWorld, type World } from './openapi/world.ts'

/** Someone who may send a request, and how they lose the right: the headers that name them, and the answer after it. */
type Caller = {
  name: string
  headers: Record<string, string>
  revoke: () => Promise<unknown>
  status: number
}

const withCallers = operations.filter(
  ({ access, body, consumes }) => access.by !== 'anyone' && (body !== undefined || consumes !== undefined),
)
const NO_CONTENT = 204

describe.skipIf(!services)('a request whose caller loses its rights while its body arrives', () => {
  let world: World
  /** The requests that the server has begun, by their ids. */
  const begun = new Map<unknown, IncomingMessage>()
  const noteRequest = (message: unknown) => {
    const { request: one } = message as { request: IncomingMessage }
    begun.set(one.headers['x-request-id'], one)
  }
  beforeAll(async () => {
    subscribe('http.server.request.start', noteRequest)
    world = await startWorld(1_000_000)
  })
  afterAll(async () => {
    unsubscribe('http.server.request.start', noteRequest)
    await world?.stop()
  })

  /** Sends the first byte of a body, and the rest after `whileHeld`. Resolves to the status. */
  const hold = async (
    { path, method }: Operation,
    { params = {}, query = {}, headers = {}, body }: Call,
    whileHeld: () => Promise<unknown>,
  ): Promise<number | undefined> => {
    const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(params[name] ?? ''))
    const bytes = Buffer.from(typeof body === 'string' ? body : JSON.stringify(body))
    const id = crypto.randomUUID()
    const asked = request(`${world.baseUrl}${filled}?${new URLSearchParams(query)}`, {
      method,
      headers: {
        'Content-Type': 'application/json',
        ...headers,
        'Content-Length': bytes.length,
        'X-Request-Id': id,
      },
    })
    const answered = once(asked, 'response') as Promise<[IncomingMessage]>
    asked.write(bytes.subarray(0, 1))
    // A body is read once its caller is authorized. Until then it neither flows nor is paused for an iterator.
    const isRead = () => typeof begun.get(id)?.readableFlowing === 'boolean'
    await Promise.race([answered, eventually('the body is read', isRead)])
    await whileHeld()
    asked.end(bytes.subarray(1))
    const [response] = await answered
    response.resume()
    return response.statusCode
  }

  const withKey = async (projectId: string, scope: ApiKeyScope, owner: Call): Promise<Caller> => {
    const { key, keyId, secretHash } = generateApiKey('sec')
    const id = crypto.randomUUID()
    const data = { id, keyId, projectId, name: 'A key', kind: 'sec', scopes: [scope] }
    await world.db.prisma.apiKey.create({ data: { ...data, secretHash: new Uint8Array(secretHash) } })
    return {
      name: 'a revoked key',
      headers: { 'X-API-Key': key },
      revoke: async () => {
        const { status } = await world.call(revokeApiKey, { ...owner, params: { projectId, id } })
        expect(status).toBe(NO_CONTENT)
      },
      status: 401,
    }
  }

  const withSession = async (projectId: string, role: ProjectRole): Promise<Caller> => {
    const { headers, sessionId } = await world.signIn({ projectId, role })
    return {
      name: 'an ended session',
      headers,
      revoke: () => world.db.prisma.session.delete({ where: { id: sessionId } }),
      status: 401,
    }
  }

  const withToken = async (projectId: string, role: ProjectRole): Promise<Caller> => {
    const { userId } = await world.signIn({ projectId, role })
    return {
      name: 'a revoked access token',
      headers: await world.accessToken(userId),
      revoke: () => world.db.prisma.accessToken.deleteMany({ where: { userId } }),
      status: 401,
    }
  }

  const removedMember = async (projectId: string, role: ProjectRole, owner: Call): Promise<Caller> => {
    const { headers, userId } = await world.signIn({ projectId, role })
    return {
      name: 'a removed member',
      headers,
      revoke: async () => {
        const { status } = await world.call(removeMember, { ...owner, params: { projectId, id: userId } })
        expect(status).toBe(NO_CONTENT)
      },
      status: 404,
    }
  }

  const weakerMember = async (projectId: string, role: ProjectRole, owner: Call): Promise<Caller> => {
    const { headers, userId } = await world.signIn({ projectId, role })
    return {
      name: 'a member with a weaker role',
      headers,
      revoke: async () => {
        const body = { role: 'viewer' }
        const { status } = await world.call(changeMember, {
          ...owner,
          params: { projectId, id: userId },
          body,
        })
        expect(status).toBe(200)
      },
      status: 403,
    }
  }

  /** Everyone who may send a request to an operation, and every way to lose the right. */
  const callersOf = async ({ access }: Operation, projectId: string): Promise<Caller[]> => {
    const { headers } = await world.signIn({ projectId, role: 'owner' })
    const owner: Call = { key: null, headers }
    switch (access.by) {
      case 'key':
        return [await withKey(projectId, access.scope, owner)]
      case 'session':
        return [
          await withSession(projectId, 'owner'),
          ...(access.tokens === false ? [] : [await withToken(projectId, 'owner')]),
        ]
      case 'session-or-key':
        return [await withSession(projectId, 'owner'), await withKey(projectId, access.scope, owner)]
      case 'project': {
        const { role } = access
        const scope = scopeForRole[role]
        return [
          ...(scope === null || access.keys === false ? [] : [await withKey(projectId, scope, owner)]),
          await withSession(projectId, role),
          ...(access.tokens === false ? [] : [await withToken(projectId, role)]),
          await removedMember(projectId, role, owner),
          ...(role === 'viewer' ? [] : [await weakerMember(projectId, role, owner)]),
        ]
      }
      case 'anyone':
        return []
    }
  }

  it.each(withCallers)('is refused: $id', async (operation) => {
    const good = await examples.get(operation.id)?.good(world)
    if (!good) throw new Error(`${operation.id} has no example`)
    const projectId = good.params?.projectId ?? world.projectId
    const call = { ...good, params: { projectId, ...good.params } }
    const sent: Record<string, string> = { Origin: world.baseUrl, ...good.headers }
    const { Cookie: _cookie, Authorization: _token, ...headers } = sent
    const callers = await callersOf(operation, projectId)
    const answers = await Promise.all(
      callers.map(async ({ name, headers: own, revoke }) => {
        const asked = { ...call, headers: { ...headers, ...own } }
        return [name, await hold(operation, asked, revoke)]
      }),
    )
    expect(Object.fromEntries(answers)).toEqual(
      Object.fromEntries(callers.map(({ name, status }) => [name, status])),
    )
    // The same request succeeds for someone who keeps their rights.
    const { key = world.apiKey } = good
    const kept = { ...call, headers: { ...(key !== null && { 'X-API-Key': key }), ...good.headers } }
    expect(await hold(operation, kept, async () => undefined)).toBeLessThan(400)
  })
})
