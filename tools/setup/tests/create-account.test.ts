import { openDatabase } from '@waymark/database'
import { verifyPassword } from '@waymark/domain/account'
import { createTestDatabase, services } from '@waymark/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createAccount } from '../src/create-account.ts'

describe.skipIf(!services)('the account step', () => {
  let database: Awaited<ReturnType<typeof createTestDatabase>>
  let db: ReturnType<typeof openDatabase>
  beforeAll(async () => {
    database = await createTestDatabase()
    db = openDatabase({ url: database.url, poolSize: 2, applicationName: 'test', onError: () => {} })
  })
  afterAll(async () => {
    await db.close()
    await database.drop()
  })

  it('creates an account that owns a project, once', async () => {
    const created = await createAccount(db, { email: ' Ann@Shop.example ', name: 'Ann' })
    expect(created.email).toBe('ann@shop.example')
    const user = await db.prisma.user.findUniqueOrThrow({
      where: { email: created.email },
      include: { memberships: true },
    })
    expect(user).toMatchObject({
      name: 'Ann',
      memberships: [{ projectId: created.projectId, role: 'owner' }],
    })
    expect(await verifyPassword(created.password, user.passwordHash)).toBe(true)
    await expect(createAccount(db, { email: 'ann@shop.example', name: '' })).rejects.toThrow(
      'has an account already',
    )
  })

  it('refuses an invalid address', async () => {
    await expect(createAccount(db, { email: '', name: 'Ann' })).rejects.toThrow('ACCOUNT_EMAIL')
  })
})
