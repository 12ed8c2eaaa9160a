import { randomUUID } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { canonicalAddress } from '@waymark/contracts/email-address'
import { createTestDatabase, eventually, services, type TestDatabase } from '@waymark/testing'
import type { PoolClient } from 'pg'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { type Database, openDatabase } from '../src/database.ts'
import { NOW } from '../src/now.ts'
import { isDataError, isTransient } from '../src/sql-errors.ts'

const INSERT = 'INSERT INTO core.tenants (id, name) VALUES ($1, $2)'
const THIS_PROCESS = 'SELECT pg_backend_pid() AS pid'

describe.skipIf(!services)('the database', () => {
  let database: TestDatabase
  let db: Database
  let other: Database
  let idleErrors: Error[]

  beforeAll(async () => {
    database = await createTestDatabase()
    other = openDatabase({ url: database.url, poolSize: 2, applicationName: 'other', onError: () => {} })
  })

  beforeEach(() => {
    idleErrors = []
    db = openDatabase({
      url: database.url,
      poolSize: 2,
      applicationName: 'test',
      onError: (error) => idleErrors.push(error),
    })
  })

  afterEach(async () => {
    await db.close()
    await other.pool.query('DELETE FROM core.tenants')
  })

  afterAll(async () => {
    await other.close()
    await database.drop()
  })

  const tenantNames = async () => {
    const { rows } = await other.pool.query<{ name: string }>('SELECT name FROM core.tenants ORDER BY name')
    return rows.map(({ name }) => name)
  }

  const pidOf = async (client: Pick<PoolClient, 'query'>) => {
    const { rows } = await client.query<{ pid: number }>(THIS_PROCESS)
    return rows[0]?.pid
  }

  const cut = (pid: number | undefined) => other.pool.query('SELECT pg_terminate_backend($1)', [pid])

  it('has what was dated to the present behind it at once', async () => {
    for (let n = 0; n < 20; n++) {
      const { rows } = await db.pool.query(
        `INSERT INTO core.tenants (id, name) VALUES ($1, 'a') RETURNING created_at <= ${NOW} AS "isPast"`,
        [randomUUID()],
      )
      expect(rows).toEqual([{ isPast: true }])
    }
  })

  it('stores the same times by Prisma as by SQL, whatever the time zone of the server is', async () => {
    const name = new URL(database.url).pathname.slice(1)
    await other.pool.query(`ALTER DATABASE "${name}" SET TimeZone TO 'Europe/Berlin'`)
    onTestFinished(async () => {
      await other.pool.query(`ALTER DATABASE "${name}" RESET TimeZone`)
    })
    const [id, createdAt] = [randomUUID(), new Date('2026-11-25T12:00:00.000Z')]
    await db.prisma.tenant.create({ data: { id, name: 'kept', createdAt } })
    const { rows } = await db.pool.query('SELECT created_at FROM core.tenants WHERE id = $1', [id])
    expect(rows).toEqual([{ created_at: createdAt }])
    expect(await db.prisma.tenant.findUniqueOrThrow({ where: { id } })).toMatchObject({ createdAt })
  })

  it('commits a transaction that resolves', async () => {
    const answer = await db.transaction(async (client) => {
      await client.query(INSERT, [randomUUID(), 'kept'])
      return 'done'
    })
    expect(answer).toBe('done')
    expect(await tenantNames()).toEqual(['kept'])
  })

  it('rolls back a transaction that rejects, and reuses the connection', async () => {
    const before = await pidOf(db.pool)
    const refused = db.transaction(async (client) => {
      await client.query(INSERT, [randomUUID(), 'lost'])
      throw new Error('changed my mind')
    })
    await expect(refused).rejects.toThrow('changed my mind')
    expect(await tenantNames()).toEqual([])
    expect(await pidOf(db.pool)).toBe(before)
  })

  it('does not resolve a transaction with an ignored failed statement', async () => {
    const overlooked = db.transaction(async (client) => {
      await client.query(INSERT, [randomUUID(), 'lost'])
      await client.query('SELECT 1 / 0').catch(() => {})
    })
    await expect(overlooked).rejects.toThrow('rolled back')
    expect(await tenantNames()).toEqual([])
  })

  it('commits earlier statements at once on request', async () => {
    const seen = await db.transaction(async (client, commit) => {
      const inserted = client.query(INSERT, [randomUUID(), 'kept'])
      await Promise.all([inserted, commit()])
      return tenantNames()
    })
    expect(seen).toEqual(['kept'])
  })

  it('commits no pipelined statement when one fails, and reports the reason', async () => {
    const before = await pidOf(db.pool)
    const refused = db.transaction(async (client, commit) => {
      const statements = [
        client.query(INSERT, [randomUUID(), 'lost']),
        client.query('SELECT 1 / 0'),
        client.query(INSERT, [randomUUID(), 'lost, too']),
      ]
      await Promise.all([...statements, commit()])
    })
    await expect(refused).rejects.toThrow('division by zero')
    expect(await tenantNames()).toEqual([])
    expect(await pidOf(db.pool)).toBe(before)
  })

  it('continues after a broken connection in a transaction, and does not reuse it', async () => {
    let before: number | undefined
    const broken = db.transaction(async (client) => {
      before = await pidOf(client)
      await cut(before)
      await expect.poll(() => client.query('SELECT 1').catch((error) => isTransient(error))).toBe(true)
      await client.query(INSERT, [randomUUID(), 'lost'])
    })
    await expect(broken).rejects.toSatisfy(isTransient)
    expect(db.pool.totalCount).toBe(0)
    expect(await pidOf(db.pool)).not.toBe(before)
  })

  it('continues after broken idle connections, and reports them', async () => {
    await cut(await pidOf(db.pool))
    await expect.poll(() => idleErrors.length).toBe(1)
    expect(isTransient(idleErrors[0])).toBe(true)
    expect(await pidOf(db.pool)).toBeTypeOf('number')
  })

  /** A pool of one connection, already open, because opening one may take longer than a short timeout. */
  const openImpatient = async (timeouts: { statementTimeoutMs?: number; connectTimeoutMs?: number }) => {
    const settings = { url: database.url, poolSize: 1, applicationName: 'impatient', onError: () => {} }
    const { close, pool } = openDatabase({ ...settings, ...timeouts })
    onTestFinished(close)
    const client = await eventually('there is a connection', () => pool.connect())
    onTestFinished(() => client.release())
    return { pool, client }
  }

  it('cancels slow statements', async () => {
    const { client } = await openImpatient({ statementTimeoutMs: 100 })
    await expect(client.query('SELECT pg_sleep(600)')).rejects.toSatisfy(isTransient)
  })

  it('waits for a connection up to its timeout', async () => {
    const { pool } = await openImpatient({ connectTimeoutMs: 100 })
    await expect(pool.query('SELECT 1')).rejects.toSatisfy(isTransient)
  })

  it('reports a refused connection as transient, with pg and Prisma', async () => {
    const away = openDatabase({
      url: 'postgresql://nobody@127.0.0.1:1/none',
      poolSize: 1,
      applicationName: 'away',
      onError: () => {},
    })
    await expect(away.pool.query('SELECT 1')).rejects.toSatisfy(isTransient)
    await expect(away.transaction(async () => {})).rejects.toSatisfy(isTransient)
    await expect(away.prisma.tenant.findMany()).rejects.toSatisfy(isTransient)
    await expect(away.prisma.$queryRaw`SELECT 1`).rejects.toSatisfy(isTransient)
    await away.close()
  })

  it('has every column of the Prisma schema', async () => {
    const { prisma } = db
    const found = await Promise.all([
      prisma.tenant.findFirst(),
      prisma.user.findFirst(),
      prisma.project.findFirst(),
      prisma.projectMember.findFirst(),
      prisma.apiKey.findFirst(),
      prisma.eventId.findFirst(),
      prisma.event.findFirst(),
      prisma.outboxRecord.findFirst(),
      prisma.deadLetter.findFirst(),
      prisma.logRecord.findFirst(),
      prisma.logOffset.findFirst(),
      prisma.identity.findFirst(),
      prisma.profile.findFirst(),
    ])
    expect(found.every((row) => row === null)).toBe(true)
    expect(db.pool.totalCount).toBeGreaterThan(0)
  })

  it('enforces constraints for every writer', async () => {
    const user = { id: randomUUID(), name: 'Ann', passwordHash: '…' }
    await expect(db.prisma.user.create({ data: { ...user, email: 'Ann@example.com' } })).rejects.toSatisfy(
      isDataError,
    )
    await expect(
      db.prisma.user.create({ data: { ...user, email: 'ann@example.com' } }),
    ).resolves.toMatchObject({ email: 'ann@example.com' })
    await db.prisma.user.delete({ where: { id: user.id } })
  })

  it('brings stored addresses into their canonical form, and keeps one of two spellings', async () => {
    const path = '../prisma/migrations/20261127010000_canonical_addresses/migration.sql'
    const sql = await readFile(new URL(path, import.meta.url), 'utf8')
    const [tenant, project] = [randomUUID(), randomUUID()]
    await db.pool.query(INSERT, [tenant, 'Shop'])
    await db.pool.query(`INSERT INTO core.projects (id, tenant_id, name) VALUES ($1, $2, 'Shop')`, [
      project,
      tenant,
    ])
    const spelled = [
      'ann@shop.example',
      'x@bücher.example',
      'x@xn--bcher-kva.example',
      'y@bücher.example',
      'y@ｂücher.example',
      'jörg@x.example'.normalize('NFD'),
      'ann@他们为什么不说中文.example',
      'ann@3年b組金八先生.example',
      'ann@пример.испытание',
      'ann@faß.ελλάσ.example',
      'ann@💌.example',
    ]
    await db.pool.query(
      `INSERT INTO email.suppressions (id, project_id, address, reason)
       SELECT gen_random_uuid(), $1, address, 'manual' FROM unnest($2::text[]) AS address`,
      [project, spelled],
    )
    const user = (email: string) => ({ id: randomUUID(), name: 'Ann', passwordHash: '…', email })
    const users = ['ann@müller.example', 'ann@bücher.example', 'ann@xn--bcher-kva.example'].map(user)
    await db.prisma.user.createMany({ data: users })
    await db.transaction((client) => client.query(sql))
    const { rows } = await db.pool.query<{ address: string }>(
      'SELECT address FROM email.suppressions WHERE project_id = $1',
      [project],
    )
    const canonical = [...new Set(spelled.map((address) => canonicalAddress(address)))]
    expect(rows.map(({ address }) => address).sort()).toEqual(canonical.sort())
    const found = await db.prisma.user.findMany({ where: { id: { in: users.map(({ id }) => id) } } })
    expect(found.map(({ email }) => email).sort()).toEqual(
      // The account in the second spelling stays as it is: two cannot have one address.
      ['ann@bücher.example', 'ann@xn--bcher-kva.example', 'ann@xn--mller-kva.example'],
    )
    await db.prisma.user.deleteMany({ where: { id: { in: users.map(({ id }) => id) } } })
    await db.pool.query('DELETE FROM core.projects WHERE id = $1', [project])
  })

  it('can be closed twice', async () => {
    await Promise.all([db.close(), db.close()])
  })
})
