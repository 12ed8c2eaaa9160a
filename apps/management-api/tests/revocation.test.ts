import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { generateApiKey } from '@waymark/domain/key'
import { eventually, services } from '@waymark/testing'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type Browser, type Management, startManagement } from './start-management.ts'

const MEMBERS_LOCK = 'SELECT FROM core.projects WHERE id = $1 FOR NO KEY UPDATE'
const LINK_LOCK = 'SELECT FROM link.links WHERE id = $1 FOR UPDATE'
const WAITING = `
  SELECT FROM pg_stat_activity
  WHERE datname = current_database() AND wait_event_type = 'Lock' AND pid <> pg_backend_pid()`

describe.skipIf(!services)('a write whose caller loses its rights while it waits', () => {
  let management: Management
  let owner: Awaited<ReturnType<Management['register']>>
  let projectId: string
  let admin: Browser & { userId: string }
  let accomplice: { userId: string }
  /** What the name servers answer, and whether they were asked. */
  let records = Promise.resolve<string[][]>([])
  let asked = 0
  /** How many requests were authorized before their bodies were read. */
  let authorized = 0

  beforeAll(async () => {
    const resolveTxt = () => {
      asked++
      return records
    }
    management = await startManagement({
      repeats503: false,
      oidc: { allowPrivateAddresses: false, resolveTxt },
      arrange: (service) => ({
        ...service,
        routes: (service.routes ?? []).map(({ allow, ...route }) => ({
          ...route,
          allow: async (asking) => {
            const caller: unknown = await allow?.(asking)
            authorized++
            return caller
          },
        })),
      }),
    })
  })
  afterAll(() => management?.stop())
  beforeEach(async () => {
    owner = await management.register()
    projectId = owner.account.projects[0]?.id ?? ''
    admin = await management.member(projectId, 'admin')
    accomplice = await management.member(projectId, 'viewer')
  })

  const newKey = async (): Promise<{ id: string; key: string }> => {
    const { key, keyId, secretHash } = generateApiKey('sec')
    const { id } = await management.db.prisma.apiKey.create({
      data: {
        id: crypto.randomUUID(),
        keyId,
        projectId,
        name: 'A key',
        kind: 'sec',
        scopes: ['manage:admin'],
        secretHash: new Uint8Array(secretHash),
      },
    })
    return { id, key }
  }
  const promote = () =>
    admin.request('PATCH', `/api/projects/${projectId}/members/${accomplice.userId}`, { role: 'admin' })
  const roleOfAccomplice = async () => {
    const { userId } = accomplice
    const where = { projectId_userId: { projectId, userId } }
    return (await management.db.prisma.projectMember.findUniqueOrThrow({ where })).role
  }
  /** Runs a revocation in the transaction that holds the lock for which a request waits. Returns the answer. */
  const revokeBefore = async (
    ask: () => Promise<Response>,
    [revocation, values]: [string, unknown[]],
    [lock, locked]: [string, string] = [MEMBERS_LOCK, projectId],
  ): Promise<number> => {
    const client = await management.db.pool.connect()
    try {
      await client.query('BEGIN')
      await client.query(lock, [locked])
      const answer = ask()
      await eventually('the request waits', async () => (await client.query(WAITING)).rowCount === 1)
      expect((await client.query(revocation, values)).rowCount).toBe(1)
      await client.query('COMMIT')
      return (await answer).status
    } finally {
      // After a failure. It does nothing after the commit.
      await client.query('ROLLBACK')
      client.release()
    }
  }

  it.each<[string, number, string, () => unknown[]]>([
    [
      'removed member',
      404,
      'DELETE FROM core.project_members WHERE project_id = $1 AND user_id = $2',
      () => [projectId, admin.userId],
    ],
    [
      'weaker role',
      403,
      `UPDATE core.project_members SET role = 'editor' WHERE project_id = $1 AND user_id = $2`,
      () => [projectId, admin.userId],
    ],
    ['ended session', 401, 'DELETE FROM core.sessions WHERE user_id = $1', () => [admin.userId]],
  ])('for a lock is refused: %s', async (_, status, revocation, values) => {
    expect(await revokeBefore(promote, [revocation, values()])).toBe(status)
    expect(await roleOfAccomplice()).toBe('viewer')
  })

  it('for a lock is refused: revoked key', async () => {
    const { id, key } = await newKey()
    const settings = () =>
      fetch(`${management.url}/api/projects/${projectId}/settings`, {
        method: 'PATCH',
        headers: { 'X-API-Key': key, 'Content-Type': 'application/json' },
        body: JSON.stringify({ retentionDays: 1 }),
      })
    const revocation = 'UPDATE core.api_keys SET revoked_at = now() WHERE id = $1'
    expect(await revokeBefore(settings, [revocation, [id]])).toBe(401)
    const answer = await owner.request('GET', `/api/projects/${projectId}/settings`)
    expect(await answer.json()).not.toHaveProperty('retentionDays')
  })

  it('for a lock is refused: the change of a link by a removed member', async () => {
    const created = await owner.request('POST', `/api/projects/${projectId}/links`, {
      destination: 'https://shop.example/',
    })
    const { id } = (await created.json()) as { id: string }
    const path = `/api/projects/${projectId}/links/${id}`
    const status = await revokeBefore(
      () => admin.request('PATCH', path, { campaign: 'late' }),
      ['DELETE FROM core.project_members WHERE project_id = $1 AND user_id = $2', [projectId, admin.userId]],
      [LINK_LOCK, id],
    )
    expect(status).toBe(404)
    expect(await (await owner.request('GET', path)).json()).toMatchObject({ campaign: null })
  })

  const remove = async () => {
    const removed = await owner.request('DELETE', `/api/projects/${projectId}/members/${admin.userId}`)
    expect(removed.status).toBe(204)
  }

  it('for name servers is refused', async () => {
    const path = `/api/projects/${projectId}/link-domains`
    const created = await admin.request('POST', path, { host: `${crypto.randomUUID()}.example` })
    const { id, verification } = (await created.json()) as { id: string; verification: { value: string } }
    const { promise, resolve } = Promise.withResolvers<string[][]>()
    records = promise
    const before = asked
    const verifying = admin.request('POST', `${path}/${id}/verify`)
    await eventually('the name servers were asked', () => asked > before)
    await remove()
    resolve([[verification.value]])
    expect((await verifying).status).toBe(404)
    const domain = await management.db.prisma.linkDomain.findUniqueOrThrow({ where: { id } })
    expect(domain.verifiedAt).toBeNull()
  })

  it('for the rest of a CSV is refused', async () => {
    const pools = `/api/projects/${projectId}/coupon-pools`
    const discount = { type: 'percent', value: 10 }
    const made = await owner.request('POST', pools, { name: 'Imported', kind: 'unique', discount })
    const { id } = (await made.json()) as { id: string }
    const importing = request(`${management.url}${pools}/${id}/import`, {
      method: 'POST',
      headers: { Origin: management.url, Cookie: admin.cookie, 'Content-Type': 'text/csv' },
    })
    const answered = once(importing, 'response') as Promise<[IncomingMessage]>
    const before = authorized
    importing.write('code\nFIRST-CODE\n')
    await eventually('the import has begun', () => authorized > before)
    await remove()
    importing.end('SECOND-CODE\n')
    const [response] = await answered
    response.resume()
    expect(response.statusCode).toBe(404)
    expect(await management.db.prisma.coupon.count({ where: { poolId: id } })).toBe(0)
  })

  it('may remove rights of its own', async () => {
    const key = await newKey()
    const revoke = await fetch(`${management.url}/api/projects/${projectId}/api-keys/${key.id}`, {
      method: 'DELETE',
      headers: { 'X-API-Key': key.key },
    })
    expect(revoke.status).toBe(204)
    const self = `/api/projects/${projectId}/members/${admin.userId}`
    expect((await admin.request('PATCH', self, { role: 'viewer' })).status).toBe(200)
    expect((await admin.request('DELETE', `/api/projects/${projectId}/members/me`)).status).toBe(204)
  })
})
