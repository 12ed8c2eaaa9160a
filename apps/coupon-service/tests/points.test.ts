import type { LoyaltyProgramme } from '@waymark/contracts/loyalty'
import { type Database, isTransient } from '@waymark/database'
import { adjustPoints, lockOrderId, readPoints, resolveProfiles, reverseOrder } from '@waymark/pipeline'
import { services } from '@waymark/testing'
import { v7 as uuidv7 } from 'uuid'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createQualifyCart } from '../src/qualify-cart.ts'
import { parseQualify } from '../src/qualify-route.ts'
import { createRedeemCoupon } from '../src/redeem-coupon.ts'
import { parseRedeem } from '../src/redeem-route.ts'
import { configsWith, createPool, createProject, openDatabases } from './pools.ts'

const device = { ip: null, userAgent: null }
const clock = () => Date.parse('2026-11-28T04:00:00Z')
/** 25.00 EUR. */
const cart = {
  currency: 'EUR',
  items: [{ sku: 'shirt', quantity: 2, unitAmount: 1_000 }],
  shippingAmount: 500,
}
const programmeOf = (values: Partial<LoyaltyProgramme> = {}): LoyaltyProgramme => ({
  id: uuidv7(),
  key: uuidv7(),
  status: 'active',
  rules: [],
  expiryMonths: null,
  // 3 points are worth 2 cents.
  spending: { points: 3, amount: 2, currency: 'EUR' },
  tiers: [],
  ...values,
})
const club = programmeOf({ key: 'club' })
const strict = programmeOf({
  key: 'strict',
  spending: { points: 1, amount: 1, currency: 'EUR', minimum: 100 },
})
const paused = programmeOf({ key: 'paused', status: 'paused' })
const programmes = [club, strict, paused]
const projectConfigs = configsWith(undefined, undefined, programmes)

describe.skipIf(!services)('spending points', () => {
  let databases: Awaited<ReturnType<typeof openDatabases>>
  let db: Database
  let projectId: string

  beforeAll(async () => {
    databases = await openDatabases()
    db = databases.db
    projectId = await createProject(db)
    for (const { id, key } of programmes)
      await db.prisma.loyaltyProgramme.create({ data: { id, projectId, key, name: key, rules: [] } })
  })
  afterAll(async () => {
    await databases?.close()
  })

  const newPerson = async (points: number, { id: programmeId } = club) => {
    const userId = uuidv7()
    const [profileId] = await resolveProfiles(db.pool, [{ projectId, visitorId: null, userId }])
    const profileIds = [profileId ?? '']
    if (points > 0)
      await db.transaction((client) =>
        adjustPoints(
          client,
          { projectId, programmeId, profileIds, profileId: profileIds[0] ?? '' },
          { points, at: new Date(clock()) },
        ),
      )
    const balance = async () => {
      const [own] = await readPoints(db.pool, profileIds, { at: new Date(clock()), programmeId })
      return own?.balance ?? 0
    }
    return { userId, balance }
  }
  const redeem = async (
    body: object,
    { keyKind = 'sec', key }: { keyKind?: 'sec' | 'pub'; key?: string } = {},
  ) => {
    const redeemCoupon = createRedeemCoupon({ db, projectConfigs, clock })
    const idempotency = key === undefined ? undefined : { key, keyKind, requestHash: JSON.stringify(body) }
    const redeemer = { projectId, device, hidesProfile: keyKind === 'pub' }
    for (;;) {
      try {
        const answer = await redeemCoupon(redeemer, parseRedeem(body), idempotency)
        return { status: answer.status, body: JSON.parse(answer.body) }
      } catch (error) {
        // It waited for too long, and clients repeat it.
        if (!isTransient(error)) throw error
      }
    }
  }
  const points = (values: object = {}) => ({ points: { programme: 'club', ...values } })

  it('takes the fewest points that are worth what is left after discounts, before gift cards', async () => {
    const { userId, balance } = await newPerson(1_000)
    const { codes: tenth } = await createPool(db, projectId, { codes: 1 })
    const card = { kind: 'balance', discount: { type: 'balance' }, cardAmount: 5_000, cardCurrency: 'EUR' }
    const { codes: gift } = await createPool(db, projectId, { ...card, codes: 1 })
    const codes = [...tenth, ...gift]
    const request = { codes, userId, ...cart, ...points() }
    const qualify = createQualifyCart({ db, projectConfigs, clock })
    const { answer } = await qualify(projectId, parseQualify(request), null, 'sec')
    // 25.00 - 2.00 - 1000 * 2 / 3 = 16.34.
    expect(answer).toMatchObject({
      best: { discountAmount: 200 },
      points: { programme: 'club', points: 999, amount: 666, balance: 1_000 },
      payments: [{ amount: 1_634 }],
      amountDue: 0,
    })
    const orderId = uuidv7()
    const { status, body } = await redeem({ ...request, orderId })
    expect([status, body]).toMatchObject([
      200,
      {
        discountAmount: 200,
        points: { points: 999, amount: 666, currency: 'EUR', balance: 1 },
        payments: [{ amount: 1_634, balance: 3_366 }],
        amountDue: 0,
      },
    ])
    expect(await balance()).toBe(1)
  })

  it('takes what gift cards and points of other requests leave of the order', async () => {
    const { userId } = await newPerson(9_000)
    const card = { kind: 'balance', discount: { type: 'balance' }, cardAmount: 1_000, cardCurrency: 'EUR' }
    const { codes } = await createPool(db, projectId, { ...card, codes: 2 })
    const order = { userId, orderId: uuidv7(), ...cart }
    expect((await redeem({ ...order, codes: codes.slice(0, 1) })).body.amountDue).toBe(1_500)
    const spent = await redeem({ ...order, ...points({ points: 300 }) })
    expect(spent.body).toMatchObject({ points: { amount: 200 }, amountDue: 1_300 })
    expect((await redeem({ ...order, codes: codes.slice(1) })).body.amountDue).toBe(300)
    expect((await redeem({ ...order, ...points({ points: 300 }) })).body).toMatchObject({
      points: { amount: 200, movementId: spent.body.points.movementId },
      amountDue: 300,
    })
  })

  it('takes points of an order once, in one request or several', async () => {
    const { userId, balance } = await newPerson(300)
    const request = { userId, orderId: uuidv7(), ...cart, ...points({ points: 150 }) }
    const answers = await Promise.all(Array.from({ length: 8 }, () => redeem(request)))
    const ids = new Set(answers.map(({ body }) => body.points.movementId))
    expect(answers.map(({ status, body }) => [status, body.points.points])).toEqual(Array(8).fill([200, 150]))
    expect(ids.size).toBe(1)
    expect(answers[0]?.body).toMatchObject({ redemptions: [], points: { amount: 100 }, amountDue: 2_400 })
    expect(await balance()).toBe(150)
  })

  it('never takes more than there are from concurrent orders', async () => {
    const { userId, balance } = await newPerson(100)
    const body = () => ({ userId, orderId: uuidv7(), ...cart, ...points({ points: 15 }) })
    const answers = await Promise.all(Array.from({ length: 20 }, () => redeem(body())))
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(6)
    expect(answers.find(({ status }) => status !== 200)).toMatchObject({
      status: 409,
      body: { reason: 'insufficient_points' },
    })
    expect(await balance()).toBe(10)
  })

  it('redeems codes and points together or not at all', async () => {
    const { userId } = await newPerson(10)
    const { codes } = await createPool(db, projectId, { codes: 1 })
    const request = { codes, userId, orderId: uuidv7(), ...cart }
    expect((await redeem({ ...request, ...points({ points: 11 }) })).body.reason).toBe('insufficient_points')
    expect((await redeem({ ...request, ...points({ points: 10 }) })).status).toBe(200)
  })

  it('is processed again under its idempotency key after a refusal', async () => {
    const { userId } = await newPerson(0)
    const request = { userId, orderId: uuidv7(), ...cart, ...points() }
    const key = uuidv7()
    expect((await redeem(request, { key })).status).toBe(409)
    const { userId: other } = await newPerson(30)
    const first = await redeem({ ...request, userId: other }, { key })
    expect(first).toMatchObject({ status: 200, body: { points: { points: 30, amount: 20 } } })
    expect(await redeem({ ...request, userId: other }, { key })).toEqual(first)
  })

  it('is refused for an order that was reversed, whose points are back', async () => {
    const { userId, balance } = await newPerson(300)
    const orderId = uuidv7()
    const request = { userId, orderId, ...cart, ...points() }
    expect((await redeem(request)).body.points).toMatchObject({ points: 300, balance: 0 })
    await db.transaction(async (client) => {
      await lockOrderId(client, projectId, orderId)
      await reverseOrder(client, { projectId, orderId, at: new Date(clock()) })
    })
    expect(await balance()).toBe(300)
    expect(await redeem(request)).toMatchObject({ status: 409, body: { reason: 'order_reversed' } })
  })

  it('answers why points are not spent', async () => {
    const { userId } = await newPerson(150, strict)
    const order = () => ({ userId, orderId: uuidv7(), ...cart })
    const reasonOf = async (body: object, keyKind: 'sec' | 'pub' = 'sec') => {
      const { status, body: answer } = await redeem(body, { keyKind })
      return [status, answer.reason]
    }
    const of = (programme: string, wanted?: number) => ({ points: { programme, points: wanted } })
    expect(await reasonOf({ ...order(), ...of('strict', 99) })).toEqual([409, 'minimum_points'])
    expect(await reasonOf({ ...order(), ...of('strict', 151) })).toEqual([409, 'insufficient_points'])
    expect(await reasonOf({ ...order(), ...of('paused') })).toEqual([409, 'not_spendable'])
    expect(await reasonOf({ ...order(), ...of('strict') }, 'pub')).toEqual([409, 'secret_key_required'])
    expect(await reasonOf({ ...order(), ...of('strict'), currency: 'USD' })).toEqual([
      409,
      'currency_mismatch',
    ])
    expect(await reasonOf({ ...order(), ...of('no-such') })).toEqual([404, undefined])
    expect(await reasonOf({ ...order(), ...of('strict', 100) })).toEqual([200, undefined])
  })

  it.each([
    ['orderId', { orderId: undefined }],
    ['userId or visitorId', { userId: undefined }],
    ['items', { items: undefined, shippingAmount: undefined }],
    ['holdId', { holdId: uuidv7(), userId: undefined, items: undefined, shippingAmount: undefined }],
    ['code', { code: 'SUMMER' }],
  ])('requires what it needs: %s', (message, values) => {
    const request = { userId: 'ann', orderId: 'o', ...cart, ...points(), ...values }
    expect(() => parseRedeem(JSON.parse(JSON.stringify(request)))).toThrow(message)
  })
})
