import { type Database, isTransient } from '@waymark/database'
import { resolveProfiles } from '@waymark/pipeline'
import { services } from '@waymark/testing'
import { v7 as uuidv7 } from 'uuid'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createQualifyCart } from '../src/qualify-cart.ts'
import { parseQualify } from '../src/qualify-route.ts'
import { createRedeemCoupon } from '../src/redeem-coupon.ts'
import { parseRedeem } from '../src/redeem-route.ts'
import { configsWith, createPool, createProject, openDatabases } from './pools.ts'

const device = { ip: null, userAgent: null }
const items = [
  { sku: 'shirt', category: 'clothes', quantity: 2, unitAmount: 1995 },
  { sku: 'mug', category: 'home', quantity: 1, unitAmount: 799 },
]
const cart = { currency: 'EUR', items, shippingAmount: 490 }
const euros = (value: number) => ({ type: 'amount', value, currency: 'EUR' })
const percent = (value: number) => ({ type: 'percent', value })

describe.skipIf(!services)('automatic promotions', () => {
  let databases: Awaited<ReturnType<typeof openDatabases>>
  let db: Database
  let other: Database
  let projectId: string
  const projectConfigs = configsWith(undefined, [
    {
      key: 'regulars',
      condition: { counts: [{ eventName: 'order_placed', days: 30, op: 'gte', value: 2 }] },
    },
  ])

  beforeAll(async () => {
    databases = await openDatabases()
    db = databases.db
    other = databases.other
  })
  beforeEach(async () => {
    projectId = await createProject(db)
  })
  afterAll(async () => {
    await databases?.close()
  })

  const promotion = async (values: Parameters<typeof createPool>[2] = {}): Promise<string> =>
    (await createPool(db, projectId, { kind: 'automatic', stackable: true, ...values })).id
  const qualify = async (body: Record<string, unknown> = {}, clock = Date.now) => {
    const qualifyCart = createQualifyCart({ db, projectConfigs, clock })
    return (await qualifyCart(projectId, parseQualify({ ...cart, ...body }))).answer
  }
  const redeem = async (body: Record<string, unknown>, where = db) => {
    const redeemCoupon = createRedeemCoupon({ db: where, projectConfigs, clock: Date.now })
    const { status, body: text } = await redeemCoupon({ projectId, device }, parseRedeem(body))
    return { status, body: JSON.parse(text) }
  }
  /** Repeats requests that timed out without effect, as clients do. */
  const redeemInTheEnd: typeof redeem = async (...request) => {
    for (;;) {
      try {
        return await redeem(...request)
      } catch (error) {
        if (!isTransient(error)) throw error
      }
    }
  }
  const redemptionsOf = (poolId: string) => db.prisma.couponRedemption.findMany({ where: { poolId } })

  describe('qualifying', () => {
    it('answers what applies, the best combination and what is missing, and changes nothing', async () => {
      const tenth = await promotion({ name: 'A tenth', rules: { includedCategories: ['clothes'] } })
      const shipping = await promotion({
        name: 'Free shipping',
        discount: { type: 'free_shipping', currency: 'EUR' },
        rules: { minimumAmount: 5_589 },
      })
      await promotion({ name: 'Too much', discount: euros(1), rules: { maximumAmount: 4_788 } })
      await createPool(db, projectId, { codes: ['FIVE'], stackable: true, discount: euros(500) })
      const shown = { discount: percent(10), stackable: true, priority: 0 }
      const answer = await qualify({ codes: ['five', 'NONE'], userId: 'nobody' })
      expect(answer).toEqual({
        best: {
          // A tenth of 3990, and then 500 of 3591 and 799, in proportion.
          discountAmount: 899,
          shippingDiscountAmount: 0,
          items: [
            { sku: 'shirt', discountAmount: 808 },
            { sku: 'mug', discountAmount: 91 },
          ],
          promotions: [
            { id: tenth, discountAmount: 399, shippingDiscountAmount: 0, itemDiscounts: [399, 0] },
          ],
          codes: [{ code: 'FIVE', discountAmount: 500, shippingDiscountAmount: 0, itemDiscounts: [409, 91] }],
        },
        promotions: [
          {
            id: tenth,
            name: 'A tenth',
            ...shown,
            discountAmount: 399,
            shippingDiscountAmount: 0,
            itemDiscounts: [399, 0],
          },
        ],
        codes: [
          {
            code: 'FIVE',
            valid: true,
            discountAmount: 500,
            shippingDiscountAmount: 0,
            itemDiscounts: [417, 83],
          },
          {
            code: 'NONE',
            valid: false,
            reason: 'not_found',
            message: 'There is no such coupon',
            discountAmount: 0,
            shippingDiscountAmount: 0,
            itemDiscounts: [0, 0],
          },
        ],
        payments: [],
        paymentAmount: 0,
        amountDue: 4_380,
        nearMisses: [
          {
            id: shipping,
            name: 'Free shipping',
            ...shown,
            discount: { type: 'free_shipping', currency: 'EUR' },
            missing: { amount: 800 },
            message: '8.00 EUR more',
          },
        ],
      })
      expect(await db.prisma.couponRedemption.count({ where: { projectId } })).toBe(0)
      expect(await db.prisma.profile.count({ where: { projectId } })).toBe(0)
    })

    it.each([
      ['JPY', { amount: 5_211 }, '5211 JPY more'],
      ['KWD', { amount: 5_211 }, '5.211 KWD more'],
    ])('says what is missing in %s', async (currency, missing, message) => {
      await promotion({ discount: { type: 'amount', value: 1, currency }, rules: { minimumAmount: 10_000 } })
      expect((await qualify({ currency })).nearMisses).toMatchObject([{ missing, message }])
    })

    it('says how many units are missing, and what a code lacks', async () => {
      const discount = { type: 'buy_x_get_y', buyQuantity: 3, getQuantity: 1 }
      await promotion({ discount })
      await createPool(db, projectId, { codes: ['FOUR'], discount: { ...discount, buyQuantity: 4 } })
      const { nearMisses, codes } = await qualify({ codes: ['FOUR'] })
      expect(nearMisses).toMatchObject([{ missing: { quantity: 1 }, message: '1 more item' }])
      expect(codes).toMatchObject([{ reason: 'quantity_not_reached', missing: { quantity: 2 } }])
    })

    it('is about promotions of the project that are open now', async () => {
      const now = Date.now()
      const [startsAt, expiresAt] = [new Date(now), new Date(now + 1_000)]
      const open = await promotion({ startsAt, expiresAt })
      await promotion({ status: 'archived' })
      await promotion({ maxRedemptions: 1, discount: euros(1) })
      await db.prisma.couponPoolCount.updateMany({ where: { poolId: { not: open } }, data: { redeemed: 1 } })
      const idsAt = async (at: number) => (await qualify({}, () => at)).promotions.map(({ id }) => id)
      expect(await idsAt(now - 1)).toEqual([])
      expect(await idsAt(now)).toEqual([open])
      expect(await idsAt(now + 999)).toEqual([open])
      expect(await idsAt(now + 1_000)).toEqual([])
      projectId = await createProject(db)
      expect(await idsAt(now)).toEqual([])
    })

    it('is about the person', async () => {
      const limited = await promotion({ perProfileLimit: 1, discount: euros(1) })
      const pro = { '==': [{ var: 'traits.plan' }, 'pro'] }
      const forPro = await promotion({ rules: { condition: pro }, discount: euros(2) })
      const idsFor = async (person: Record<string, unknown>) =>
        (await qualify(person)).promotions.map(({ id }) => id)
      expect(await idsFor({})).toEqual([])
      expect(await idsFor({ userId: 'ann' })).toEqual([limited])
      const [profileId] = await resolveProfiles(db.pool, [{ projectId, userId: 'ann' }])
      await db.prisma.profile.update({ where: { id: profileId ?? '' }, data: { traits: { plan: 'pro' } } })
      expect(await idsFor({ userId: 'ann' })).toEqual([limited, forPro])
      expect((await redeem({ promotions: [limited], ...cart, userId: 'ann', orderId: 'o' })).status).toBe(200)
      expect(await idsFor({ userId: 'ann' })).toEqual([forPro])
      expect(await idsFor({ userId: 'bob' })).toEqual([limited])
    })
  })

  it('may be for a segment, which qualifying and redeeming see', async () => {
    const regulars = await promotion({ rules: { condition: { segment: 'regulars' } } })
    await promotion({ rules: { condition: { segment: 'unknown' } } })
    const ids = async () => (await qualify({ userId: 'ann' })).promotions.map(({ id }) => id)
    const [profileId] = await resolveProfiles(db.pool, [{ projectId, userId: 'ann' }])
    const order = { promotions: [regulars], ...cart, userId: 'ann', orderId: 'o' }
    expect(await ids()).toEqual([])
    expect((await redeem(order)).body.reason).toBe('condition_not_met')
    const today = new Date().toISOString().slice(0, 10)
    await db.pool.query(
      `INSERT INTO decision.profile_event_counts (profile_id, event, day, n) VALUES ($1, 'order_placed', $2, 2)`,
      [profileId, today],
    )
    expect(await ids()).toEqual([regulars])
    expect((await redeem(order)).status).toBe(200)
  })

  describe('redeeming', () => {
    it('grants what qualifying chose, once for an order, and stores it like codes', async () => {
      const tenth = await promotion({ name: 'A tenth' })
      const five = await promotion({ discount: euros(500), priority: 1 })
      await createPool(db, projectId, {
        codes: ['SHIP'],
        stackable: true,
        discount: { type: 'free_shipping' },
      })
      const { best } = await qualify({ codes: ['SHIP'] })
      expect(best.promotions.map(({ id }) => id).toSorted()).toEqual([tenth, five].toSorted())
      const order = {
        codes: best.codes.map(({ code }) => code),
        promotions: best.promotions.map(({ id }) => id),
        ...cart,
        userId: 'ann',
        orderId: 'order-1',
      }
      const { status, body } = await redeem(order)
      expect(status).toBe(200)
      expect(body).toMatchObject({
        discountAmount: best.discountAmount,
        shippingDiscountAmount: 490,
        items: best.items,
      })
      expect(
        body.redemptions.map((one: { coupon: unknown; redemption: { discountAmount: number } }) => [
          one.coupon,
          one.redemption.discountAmount,
        ]),
      ).toEqual([
        [expect.objectContaining({ code: 'SHIP', status: 'redeemed' }), 490],
        ...best.promotions.map(({ id, discountAmount }) => [
          expect.objectContaining({ code: null, status: 'available', pool: expect.objectContaining({ id }) }),
          discountAmount,
        ]),
      ])
      expect(await redemptionsOf(tenth)).toMatchObject([
        { couponId: tenth, orderId: 'order-1', userId: 'ann', discountAmount: 479n },
      ])
      const { rows } = await db.pool.query<{ value: string }>(
        `SELECT value FROM ingest.outbox WHERE topic = 'coupons.redeemed.v1' AND value LIKE $1`,
        [`%${tenth}%`],
      )
      expect(rows.map(({ value }) => JSON.parse(value))).toMatchObject([
        { kind: 'redeemed', code: null, couponId: tenth, poolId: tenth },
      ])
      expect(await redeem({ ...order, codes: undefined })).toEqual({
        status: 409,
        body: {
          error: expect.any(String),
          reason: 'not_stackable',
          promotionId: best.promotions[0]?.id,
        },
      })
      expect(await redemptionsOf(tenth)).toHaveLength(1)
    })

    it('redeems all or none', async () => {
      const good = await promotion()
      const empty = await promotion({ discount: euros(500), budgetAmount: 499, budgetCurrency: 'EUR' })
      const archived = await promotion({ status: 'archived' })
      const order = { ...cart, orderId: 'o' }
      expect(await redeem({ promotions: [good, empty], ...order })).toMatchObject({
        status: 409,
        body: { reason: 'budget_exhausted', promotionId: empty },
      })
      expect(await redeem({ promotions: [good, archived], ...order })).toMatchObject({
        status: 409,
        body: { reason: 'expired', promotionId: archived },
      })
      expect(await redeem({ promotions: [good, uuidv7()], ...order })).toMatchObject({
        status: 404,
        body: { error: 'promotions.1 is not an automatic promotion of this project' },
      })
      const own = projectId
      projectId = await createProject(db)
      expect((await redeem({ promotions: [good], ...order })).status).toBe(404)
      projectId = own
      expect(await redemptionsOf(good)).toEqual([])
      // A pool of codes is no promotion.
      const { id } = await createPool(db, projectId, { kind: 'shared', codes: ['ALL'] })
      expect((await redeem({ promotions: [id], ...order })).status).toBe(404)
    })

    it('needs a person for a limit per person', async () => {
      const limited = await promotion({ perProfileLimit: 1 })
      const order = { promotions: [limited], ...cart }
      expect(await redeem({ ...order, orderId: 'o' })).toMatchObject({
        status: 400,
        body: { error: expect.stringContaining('limited per person') },
      })
      const statuses = await Promise.all(
        Array.from({ length: 10 }, async (_, n) => {
          const person = { userId: 'ann', orderId: `o${n}` }
          return (await redeemInTheEnd({ ...order, ...person }, n % 2 === 0 ? db : other)).status
        }),
      )
      expect(statuses.toSorted()).toEqual([200, ...Array(9).fill(409)])
    })

    it('never exceeds budgets with 200 concurrent requests for promotions and a code', async () => {
      const first = await promotion({ budgetAmount: 20_000, budgetCurrency: 'EUR', discount: percent(20) })
      const second = await promotion({ maxRedemptions: 120, discount: euros(50) })
      await createPool(db, projectId, {
        kind: 'shared',
        codes: ['SHARED'],
        stackable: true,
        budgetAmount: 5_000,
        budgetCurrency: 'EUR',
        discount: euros(40),
      })
      const lists = [[first], [second], [first, second], [second, first]]
      const requests = Array.from({ length: 200 }, (_, n) => ({
        promotions: lists[n % lists.length] ?? [],
        ...(n % 3 === 0 && { codes: ['SHARED'] }),
        currency: 'EUR',
        items: [{ sku: 'a', quantity: 1, unitAmount: 2_000 + 10 * n }],
        userId: `u${n}`,
        orderId: `o${n}`,
      }))
      const answers = await Promise.all(
        requests.map((body, n) => redeemInTheEnd(body, n % 2 === 0 ? db : other)),
      )
      const stored = await db.prisma.couponRedemption.findMany({ where: { projectId } })
      const byOrder = Map.groupBy(stored, ({ orderId }) => orderId)
      answers.forEach(({ status, body }, n) => {
        const { promotions = [], codes = [], orderId = '' } = requests[n] ?? {}
        const ofOrder = byOrder.get(orderId) ?? []
        expect(ofOrder).toHaveLength(status === 200 ? promotions.length + codes.length : 0)
        if (status !== 200) return
        expect(ofOrder.reduce((sum, { discountAmount }) => sum + Number(discountAmount), 0)).toBe(
          body.discountAmount,
        )
      })
      const charged = stored
        .filter(({ poolId }) => poolId === first)
        .reduce((sum, { budgetCharge }) => sum + Number(budgetCharge), 0)
      const count = await db.prisma.couponPoolCount.findUniqueOrThrow({ where: { poolId: first } })
      expect(Number(count.granted)).toBe(charged)
      expect(charged).toBeLessThanOrEqual(20_000)
      expect((await redemptionsOf(second)).length).toBeLessThanOrEqual(120)
      expect(new Set(answers.map(({ status, body }) => body.reason ?? status))).toContain('budget_exhausted')
    })
  })

  describe('a request', () => {
    const order = { ...cart, orderId: 'o' }
    const ids = (count: number) => Array.from({ length: count }, () => uuidv7())

    it('names at most 50 promotions', () => {
      expect(() => parseRedeem({ ...order, promotions: ids(50) })).not.toThrow()
      expect(() => parseRedeem({ ...order, promotions: ids(51) })).toThrow(/^promotions /)
      expect(() => parseRedeem({ ...order, promotions: [] })).toThrow(/^promotions /)
      expect(() => parseRedeem({ ...order, promotions: ['x'] })).toThrow(/^promotions\.0 /)
    })

    it('names each promotion once, with items and an order', () => {
      const [id = ''] = ids(1)
      expect(parseRedeem({ ...order, promotions: [id.toUpperCase()] }).promotions).toEqual([id])
      expect(() => parseRedeem({ ...order, promotions: [id, id.toUpperCase()] })).toThrow(
        'promotions.1 occurs twice',
      )
      for (const body of [cart, { orderId: 'o' }, { ...cart, orderId: null }])
        expect(() => parseRedeem({ ...body, promotions: [id] })).toThrow(/^items, currency and orderId/)
      expect(() => parseRedeem({ ...order, promotions: [id], code: 'A' })).toThrow(/^code cannot be combined/)
    })

    it('qualifies with at most ten codes', () => {
      const codes = (count: number) => Array.from({ length: count }, (_, n) => `CODE${n}`)
      expect(() => parseQualify({ ...cart, codes: codes(10) })).not.toThrow()
      expect(() => parseQualify({ ...cart, codes: codes(11) })).toThrow(/^codes /)
    })
  })
})
