import { randomUUID } from 'node:crypto'
import { spendOnOrder } from '@waymark/pipeline'
import { services } from '@waymark/testing'
import { v7 as uuidv7 } from 'uuid'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Management, startManagement } from './start-management.ts'

describe.skipIf(!services)('loyalty programmes', () => {
  let management: Management
  let user: Awaited<ReturnType<Management['register']>>
  let projectId: string
  let selectorId: string
  beforeAll(async () => {
    management = await startManagement()
    user = await management.register()
    projectId = user.account.projects[0]?.id ?? ''
    const selector = { eventName: 'order_placed', amountProperty: 'total' }
    selectorId = (await call('POST', 'metering-selectors', selector)).body.id
  })
  afterAll(() => management?.stop())

  const call = async (method: string, path: string, body?: object, as = user, project = projectId) => {
    const response = await as.request(method, `/api/projects/${project}/${path}`, body)
    const text = await response.text()
    return { status: response.status, body: text === '' ? undefined : JSON.parse(text) }
  }
  const perEuro = () => ({ selectorId, points: 1, perAmount: 100, currency: 'eur' })
  const newProgramme = async (values: object = {}): Promise<string> => {
    const key = randomUUID()
    const { status, body } = await call('POST', 'loyalty-programmes', { key, name: 'Club', ...values })
    expect([status, body.errors]).toEqual([201, undefined])
    return key
  }
  const adjust = (programme: string, userId: string, points: number, key: string = randomUUID()) =>
    call('POST', `loyalty-programmes/${programme}/adjust`, { userId, points, key })

  it('have terms, which change by version, and end archived', async () => {
    const key = await newProgramme({
      rules: [perEuro()],
      spending: { points: 100, amount: 95, currency: 'eur' },
    })
    const path = `loyalty-programmes/${key}`
    expect((await call('GET', path)).body).toMatchObject({
      key,
      status: 'active',
      rules: [{ ...perEuro(), currency: 'EUR' }],
      expiryMonths: null,
      spending: { points: 100, amount: 95, currency: 'EUR' },
      tiers: [],
      version: 1,
    })
    const changed = await call('PATCH', path, { expiryMonths: 12, spending: null, status: 'paused' })
    expect(changed.body).toMatchObject({ expiryMonths: 12, spending: null, status: 'paused', version: 2 })
    expect((await call('DELETE', path)).status).toBe(204)
    expect((await call('PATCH', path, { name: 'Again' })).status).toBe(409)
    expect((await call('POST', 'loyalty-programmes', { key, name: 'Again' })).body.errors).toMatchObject([
      { field: 'key', rule: 'unique' },
    ])
  })

  it.each([
    ['rules.0.selectorId', () => ({ rules: [{ selectorId: randomUUID(), points: 1 }] })],
    ['rules.0', () => ({ rules: [{ selectorId, points: 1, perAmount: 100 }] })],
    ['rules.0.points', () => ({ rules: [{ selectorId, points: 1_000_000_001 }] })],
    ['expiryMonths', () => ({ expiryMonths: 121 })],
    ['tiers.1.key', () => ({ tiers: [1, 2].map((points) => ({ key: 'a', name: 'A', points })) })],
    ['tiers.0', () => ({ tiers: [{ key: 'a', name: 'A' }] })],
    ['tiers.0.segment', () => ({ tiers: [{ key: 'a', name: 'A', segment: 'no-such' }] })],
    ['tiers.1.points', () => ({ tiers: ['a', 'b'].map((key) => ({ key, name: 'A', points: 1 })) })],
  ])('are refused for %s', async (field, values) => {
    const body = { key: randomUUID(), name: 'Club', ...values() }
    const { status, body: answer } = await call('POST', 'loyalty-programmes', body)
    expect([status, answer.errors?.[0]?.field]).toEqual([422, field])
  })

  it('show a person their points, and a tier by points or by a segment that stays', async () => {
    const segment = randomUUID()
    const filters = [{ property: 'traits.staff', op: 'eq', value: true }]
    await call('POST', 'segments', { key: segment, name: 'Staff', condition: { filters } })
    const key = await newProgramme({
      tiers: [
        { key: 'basic', name: 'Basic', points: 0 },
        { key: 'staff', name: 'Staff', segment },
      ],
      expiryMonths: 1,
    })
    const userId = randomUUID()
    const path = `loyalty-programmes/${key}/account?userId=${userId}`
    expect((await call('GET', path)).body).toMatchObject({ balance: 0, earned: 0, tier: { key: 'basic' } })
    const { body } = await adjust(key, userId, 70)
    expect(body).toMatchObject({ balance: 70, earned: 0, nextExpiry: { points: 70 }, tier: { key: 'basic' } })
    await management.db.pool.query(
      `UPDATE ingest.profiles SET traits = '{"staff": true}' WHERE user_id = $1 RETURNING id`,
      [userId],
    )
    expect((await call('GET', path)).body.tier).toEqual({ key: 'staff', name: 'Staff' })
    const { rows } = await management.db.pool.query('SELECT id FROM ingest.profiles WHERE user_id = $1', [
      userId,
    ])
    const { body: all } = await call('GET', `profiles/${rows[0]?.id}/points`)
    expect(all.data).toMatchObject([{ programmeKey: key, balance: 70, tier: { key: 'staff' } }])
    expect((await call('DELETE', `segments/${segment}`)).body).toMatchObject({ loyaltyProgrammes: [key] })
  })

  it('add and take points once per key, and never more than there are', async () => {
    const key = await newProgramme()
    const userId = randomUUID()
    const once = randomUUID()
    expect((await adjust(key, userId, 50, once)).body.balance).toBe(50)
    expect((await adjust(key, userId, 50, once)).body.balance).toBe(50)
    expect(await adjust(key, userId, 51, once)).toMatchObject({ status: 409, body: { reason: 'key_reused' } })
    expect((await adjust(key, userId, -51)).body.reason).toBe('insufficient_points')
    expect((await adjust(key, userId, -50)).body.balance).toBe(0)
    expect((await adjust(key, userId, 0)).status).toBe(422)
    const movements = `loyalty-programmes/${key}/movements?limit=1&userId=${userId}`
    const first = (await call('GET', movements)).body
    expect(first.data).toMatchObject([{ kind: 'adjusted', points: -50 }])
    const next = await call('GET', `${movements}&cursor=${first.nextCursor}`)
    expect(next.body).toMatchObject({ data: [{ points: 50 }], nextCursor: null })
    expect((await call('GET', `loyalty-programmes/${key}/ledger`)).body).toEqual({
      balance: 0,
      earned: 0,
      adjusted: 0,
      spent: 0,
      expired: 0,
    })
  })

  it('return what an order spent when its coupon is rolled back with points', async () => {
    const key = await newProgramme()
    const [userId, orderId] = [randomUUID(), randomUUID()]
    const balance = async () =>
      (await call('GET', `loyalty-programmes/${key}/account?userId=${userId}`)).body.balance
    await adjust(key, userId, 100)
    const { id: programmeId } = (await call('GET', `loyalty-programmes/${key}`)).body
    const profile = (await call('GET', `profiles?userId=${userId}`)).body.data[0]
    await management.db.transaction((client) =>
      spendOnOrder(
        client,
        { projectId, programmeId, profileIds: [profile.id] },
        { orderId, rate: { points: 1, amount: 1, currency: 'EUR' }, wanted: 60, due: 60, at: new Date() },
      ),
    )
    const pool = { name: 'All', kind: 'shared', code: `ALL-${orderId}`, discount: { type: 'free_shipping' } }
    const poolId = (await call('POST', 'coupon-pools', pool)).body.id
    const couponId = (await call('GET', `coupons?poolId=${poolId}`)).body.data[0].id
    const redemption = { projectId, poolId, couponId, orderId, metadata: {}, redeemedAt: new Date() }
    const [first, second] = [uuidv7(), uuidv7()]
    await management.db.prisma.couponPoolCount.update({ where: { poolId }, data: { redeemed: 2 } })
    for (const id of [first, second])
      await management.db.prisma.couponRedemption.create({ data: { ...redemption, id, eventId: id } })

    const rollBack = (id: string, body: object) => call('POST', `redemptions/${id}/rollback`, body)
    expect((await rollBack(first, { points: true, amount: 0 })).status).toBe(422)
    expect((await rollBack(first, {})).status).toBe(200)
    expect(await balance()).toBe(40)
    expect((await rollBack(second, { points: true })).status).toBe(200)
    expect((await rollBack(first, { points: true })).status).toBe(200)
    expect(await balance()).toBe(100)
  })

  it('belong to one project, and name one person', async () => {
    const key = await newProgramme()
    const other = await management.register()
    const foreign = other.account.projects[0]?.id ?? ''
    for (const path of ['', '/ledger', '/movements', '/account?userId=a'])
      expect((await call('GET', `loyalty-programmes/${key}${path}`, undefined, other, foreign)).status).toBe(
        404,
      )
    const account = `loyalty-programmes/${key}/account`
    expect((await call('GET', account)).status).toBe(422)
    expect((await call('GET', `${account}?userId=a&visitorId=b`)).status).toBe(422)
    expect((await call('GET', `${account}?profileId=${randomUUID()}`)).status).toBe(404)
  })
})
