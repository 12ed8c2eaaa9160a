import { randomUUID } from 'node:crypto'
import { openDatabase } from '@waymark/database'
import { generateApiKey } from '@waymark/domain/key'
import { createTestDatabase, eventually, seededRandom, services, type TestDatabase } from '@waymark/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createKeyUsage } from '../src/api-keys.ts'

describe.skipIf(!services)('when a key was used last', () => {
  let database: TestDatabase
  let db: ReturnType<typeof openDatabase>
  let ids: string[] = []

  beforeAll(async () => {
    database = await createTestDatabase()
    db = openDatabase({ url: database.url, poolSize: 4, applicationName: 'test', onError: () => {} })
    const project = await db.prisma.project.create({
      data: { id: randomUUID(), name: 'p', tenant: { create: { id: randomUUID(), name: 't' } } },
    })
    ids = Array.from({ length: 20 }, () => randomUUID())
    await db.prisma.apiKey.createMany({
      data: ids.map((id) => {
        const { keyId, secretHash } = generateApiKey('sec')
        return {
          id,
          keyId,
          projectId: project.id,
          name: 'k',
          kind: 'sec',
          scopes: [],
          secretHash: new Uint8Array(secretHash),
        }
      }),
    })
  })
  afterAll(async () => {
    await db.close()
    await database.drop()
  })

  const usedAt = async (id: string) =>
    (await db.prisma.apiKey.findUniqueOrThrow({ where: { id } })).lastUsedAt?.getTime()

  it('is written in one statement for any number of requests, and only after requests', async () => {
    let statements = 0
    const usage = createKeyUsage({
      query: (statement) => {
        statements++
        return db.pool.query(statement)
      },
    })
    const [one = '', two = ''] = ids
    for (let n = 1; n <= 1_000; n++) usage.note(n % 2 ? one : two, n)
    await usage.flush()
    await usage.flush()
    expect(statements).toBe(1)
    expect([await usedAt(one), await usedAt(two)]).toEqual([999, 1_000])
  })

  it('is the latest time of all processes, for any order of writes', async () => {
    const processes = Array.from({ length: 8 }, () => createKeyUsage(db.pool))
    const { shuffled } = seededRandom()
    processes.forEach((usage, n) => {
      for (const id of shuffled(ids)) usage.note(id, 10_000 + n)
    })
    await Promise.all(processes.map((usage) => usage.flush()))
    // Each skipped what another was writing.
    for (const usage of processes) await usage.flush()
    for (const id of ids) expect(await usedAt(id)).toBe(10_007)
  })

  it('is kept while the database is unavailable', async () => {
    let away = true
    const [id = ''] = ids
    const usage = createKeyUsage({
      query: (statement) => (away ? Promise.reject(new Error('away')) : db.pool.query(statement)),
    })
    usage.note(id, 20_000)
    await expect(usage.flush()).rejects.toThrow('away')
    away = false
    await usage.flush()
    expect(await usedAt(id)).toBe(20_000)
  })

  it('does not deadlock with a write by one key that changes another', async () => {
    const [other = '', caller = ''] = ids.toSorted()
    const usage = createKeyUsage(db.pool)
    for (const id of [other, caller]) usage.note(id, 30_000)
    const client = await db.pool.connect()
    try {
      await client.query('BEGIN')
      // As the check of the caller of a write.
      await client.query('SELECT FROM core.api_keys WHERE id = $1 FOR SHARE', [caller])
      let hasEnded = false
      const flushing = usage.flush().finally(() => {
        hasEnded = true
      })
      flushing.catch(() => {})
      await eventually('the flush has ended or waits for a lock', async () => {
        // Only here: tests of other databases of the server wait for locks as well.
        const { rows } = await db.pool.query(
          `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
        )
        return hasEnded || rows.length > 0
      })
      await client.query('UPDATE core.api_keys SET revoked_at = now() WHERE id = $1', [other])
      await client.query('COMMIT')
      await flushing
    } finally {
      client.release()
    }
    expect(await usedAt(other)).toBe(30_000)
    await usage.flush()
    expect(await usedAt(caller)).toBe(30_000)
  })
})
