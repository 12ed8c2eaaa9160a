import { randomUUID } from 'node:crypto'
import { openDatabase } from '@waymark/database'
import { createTestDatabase, services } from '@waymark/testing'
import { NIL } from 'uuid'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createAccount } from '../src/create-account.ts'
import { resetSecondFactor } from '../src/reset-second-factor-queries.ts'

describe.skipIf(!services)('the step that resets a second factor', () => {
  let database: Awaited<ReturnType<typeof createTestDatabase>>
  let db: ReturnType<typeof openDatabase>
  beforeAll(async () => {
    database = await createTestDatabase()
    db = openDatabase({ url: database.url, poolSize: 2, applicationName: 'test', onError: () => {} })
  })
  afterAll(async () => {
    await db?.close()
    await database?.drop()
  })

  const hash = () => new Uint8Array(Buffer.from(`${randomUUID()}`.replaceAll('-', '')))
  const later = new Date(Date.now() + 3_600_000)
  /** A user in the projects of two tenants, with a second factor, codes, a session and an unfinished sign-in. */
  const aUser = async (name: string) => {
    const own = await createAccount(db, { email: `${name}@shop.example`, name })
    const other = await createAccount(db, { email: `owner-of-${name}@shop.example`, name })
    const { id } = await db.prisma.user.findUniqueOrThrow({ where: { email: own.email } })
    await db.prisma.projectMember.create({
      data: { projectId: other.projectId, userId: id, role: 'viewer' },
    })
    await db.prisma.secondFactor.create({
      data: { userId: id, secret: new Uint8Array(20), setUpAt: new Date() },
    })
    await db.prisma.recoveryCode.create({ data: { userId: id, codeHash: hash() } })
    await db.prisma.signInChallenge.create({
      data: { id: randomUUID(), userId: id, tokenHash: hash(), expiresAt: later },
    })
    await db.prisma.session.create({
      data: { id: randomUUID(), userId: id, tokenHash: hash(), lastSeenAt: new Date(), expiresAt: later },
    })
    return { id, projectIds: [own.projectId, other.projectId] }
  }
  const countsOf = async (userId: string) => [
    await db.prisma.secondFactor.count({ where: { userId } }),
    await db.prisma.recoveryCode.count({ where: { userId } }),
    await db.prisma.signInChallenge.count({ where: { userId } }),
    await db.prisma.session.count({ where: { userId } }),
  ]

  it('removes it with all sign-ins, notifies the user, and leaves an entry in each audit log', async () => {
    const [ann, ben] = [await aUser('ann'), await aUser('ben')]
    expect(await resetSecondFactor(db, ' Ann@Shop.example ')).toEqual({
      email: 'ann@shop.example',
      projects: 2,
    })
    expect(await countsOf(ann.id)).toEqual([0, 0, 0, 0])
    expect(await countsOf(ben.id)).toEqual([1, 1, 1, 1])
    expect(await db.prisma.accountMail.findMany({ where: { userId: ann.id } })).toMatchObject([
      { kind: 'second_factor_removed', recipient: 'ann@shop.example', mailDueAt: expect.any(Date) },
    ])
    const entries = await db.prisma.auditEntry.findMany({ where: { resourceId: ann.id } })
    expect(entries.map(({ projectId }) => projectId).toSorted()).toEqual(ann.projectIds.toSorted())
    expect(entries).toMatchObject(
      ann.projectIds.map(() => ({ actorKind: 'operator', actorId: NIL, operation: 'resetSecondFactor' })),
    )
    const { rows } = await db.pool.query("SELECT FROM ingest.outbox WHERE lane = 'audit'")
    expect(rows).toHaveLength(2)
    await expect(resetSecondFactor(db, 'ann@shop.example')).rejects.toThrow('has no second factor')
  })

  it('refuses an address without an account', async () => {
    for (const address of ['', 'nobody@shop.example'])
      await expect(resetSecondFactor(db, address)).rejects.toThrow('ACCOUNT_EMAIL')
  })

  it('leaves a set-up that was never confirmed', async () => {
    const { email } = await createAccount(db, { email: 'carl@shop.example', name: 'Carl' })
    const { id } = await db.prisma.user.findUniqueOrThrow({ where: { email } })
    await db.prisma.secondFactor.create({ data: { userId: id, pendingSecret: new Uint8Array(20) } })
    await expect(resetSecondFactor(db, email)).rejects.toThrow('has no second factor')
    expect(await db.prisma.secondFactor.count({ where: { userId: id } })).toBe(1)
  })
})
