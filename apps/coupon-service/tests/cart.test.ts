import type { IngestRecord } from '@waymark/contracts'
import { type Database, isTransient } from '@waymark/database'
import { resolveProfiles } from '@waymark/pipeline'
import { services } from '@waymark/testing'
import { v7 as uuidv7 } from 'uuid'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createRedeemCoupon } from '../src/redeem-coupon.ts'
import { parseRedeem } from '../src/redeem-route.ts'
import { createValidateCart } from '../src/validate-cart.ts'
import { parseCart } from '../src/validate-route.ts'
import { configsWith, createPool, createProject, openDatabases } from './pools.ts'

const device = { ip: null, userAgent: null }
const shirts = [{ sku: 'shirt', category: 'clothes', quantity: 2, unitAmount: 1995 }]
const cart = { currency: 'EUR', items: shirts, shippingAmount: 490 }
const euros = (value: number) => ({ type: 'amount', value, currency: 'EUR' })

describe.skipIf(!services)('carts', () => {
  let databases: Awaited<ReturnType<typeof openDatabases>>
  let db: Database
  let other: Database
  let projectId: string

  const projectConfigs = configsWith()

  beforeAll(async () => {
    databases = await openDatabases()
    db = databases.db
    other = databases.other
  })
  beforeEach(async () => {
    await db.pool.query('DELETE FROM ingest.outbox')
    projectId = await createProject(db)
  })
  afterAll(async () => {
    await databases?.close()
  })

  const validate = (body: Record<string, unknown>) =>
    createValidateCart({ db, clock: Date.now })(projectId, parseCart({ ...cart, ...body }))
  const redeem = async (body: Record<string, unknown>, key?: string, where = db) => {
    const redeemCoupon = createRedeemCoupon({ db: where, projectConfigs, clock: Date.now })
    const idempotency = key === undefined ? undefined : { key, requestHash: JSON.stringify(body) }
    const {
      status,
      body: text,
      replayed,
    } = await redeemCoupon({ projectId, device }, parseRedeem(body), idempotency)
    return { status, replayed, text, body: JSON.parse(text) }
  }
  const countsOf = async (poolId: string) =>
    db.prisma.couponPoolCount.findUniqueOrThrow({ where: { poolId } })
  const redemptionsOf = (poolId: string) => db.prisma.couponRedemption.findMany({ where: { poolId } })
  const profileOf = async (userId: string) => {
    const [profileId] = await resolveProfiles(db.pool, [{ projectId, userId }])
    return profileId ?? ''
  }
  const addConversion = async (profileId: string, values: { eventName?: string; amount?: bigint } = {}) => {
    await db.prisma.conversion.create({
      data: {
        ...{ projectId, profileId, eventKey: uuidv7(), selectorId: uuidv7(), eventId: 'e', currency: 'EUR' },
        ...{ eventName: 'order_placed', amount: 100n, attribution: {}, occurredAt: new Date() },
        ...{ receivedAt: new Date(), ...values },
      },
    })
  }

  describe('validating', () => {
    const stateOf = async () => {
      const tables = [
        'coupons',
        'pools',
        'pool_counts',
        'profile_counts',
        'redemptions',
        'attempts',
        'idempotency_keys',
      ]
      const counts = [
        ...tables.map((table) => `coupon.${table}`),
        'ingest.profiles',
        'ingest.identities',
        'ingest.outbox',
      ]
      const hash = (table: string) =>
        `SELECT md5(string_agg(t::text, ',' ORDER BY t::text)) AS hash FROM ${table} t`
      return Promise.all(counts.map(async (table) => (await db.pool.query(hash(table))).rows[0]))
    }

    it('answers the discounts of items and codes, and changes nothing', async () => {
      await createPool(db, projectId, { codes: ['TENTH'], prefix: 'TEN' })
      const before = await stateOf()
      expect(await validate({ code: 'ten-th', userId: 'unknown person' })).toEqual({
        valid: true,
        discountAmount: 399,
        shippingDiscountAmount: 0,
        items: [{ sku: 'shirt', discountAmount: 399 }],
        coupons: [{ code: 'TEN-TH', valid: true, discountAmount: 399 }],
      })
      expect(await stateOf()).toEqual(before)
    })

    it('answers each code, in its order, with the reason why it is not valid', async () => {
      await createPool(db, projectId, { codes: ['GOOD'], stackable: true })
      await createPool(db, projectId, {
        codes: ['SHIP'],
        stackable: true,
        discount: { type: 'free_shipping' },
      })
      await createPool(db, projectId, { codes: ['ALONE'], discount: euros(1) })
      await createPool(db, projectId, { codes: ['LATE'], expiresAt: new Date(0) })
      await createPool(db, projectId, { codes: ['DEAR'], discount: euros(1), rules: { minimumAmount: 3991 } })
      const result = await validate({ codes: ['SHIP', 'none', 'ALONE', 'GOOD', 'LATE', 'good', 'DEAR'] })
      expect(result).toMatchObject({ valid: false, discountAmount: 889, shippingDiscountAmount: 490 })
      expect(result.coupons.map((coupon) => coupon.reason ?? coupon.discountAmount)).toEqual([
        490,
        'not_found',
        'not_stackable',
        399,
        'expired',
        'duplicate',
        'minimum_not_reached',
      ])
      for (const coupon of result.coupons) if (!coupon.valid) expect(coupon).toHaveProperty('message')
    })

    it('considers who asks: assignments, limits per person, orders and traits', async () => {
      const reasonOf = async (code: string, person: object) => {
        const { coupons } = await validate({ code, ...person })
        return coupons[0]?.reason
      }
      const [ann, bea] = [await profileOf('ann'), await profileOf('bea')]
      const assigned = await createPool(db, projectId, { codes: ['HERS'] })
      await db.pool.query('UPDATE coupon.coupons SET assigned_profile_id = $2 WHERE pool_id = $1', [
        assigned.id,
        ann,
      ])
      expect(await reasonOf('HERS', { userId: 'ann' })).toBeUndefined()
      expect(await reasonOf('HERS', { userId: 'bea' })).toBe('already_redeemed')
      expect(await reasonOf('HERS', {})).toBe('already_redeemed')

      const limited = await createPool(db, projectId, {
        kind: 'shared',
        codes: ['TWICE'],
        perProfileLimit: 2,
      })
      await db.prisma.couponProfileCount.create({ data: { poolId: limited.id, profileId: ann, redeemed: 2 } })
      expect(await reasonOf('TWICE', {})).toBe('person_required')
      expect(await reasonOf('TWICE', { userId: 'bea' })).toBeUndefined()
      expect(await reasonOf('TWICE', { userId: 'ann' })).toBe('already_redeemed')

      await createPool(db, projectId, { codes: ['FIRST'], rules: { firstOrderOnly: true } })
      await addConversion(ann, { amount: 0n })
      await addConversion(ann, { eventName: 'coupon_redeemed' })
      expect(await reasonOf('FIRST', { userId: 'ann' })).toBeUndefined()
      // A conversion of a visitor whose profile was merged into the user's.
      const merged = await db.prisma.profile.create({
        data: { id: uuidv7(), projectId, bucketingId: 'v', traits: {}, mergedInto: ann },
      })
      await addConversion(merged.id)
      expect(await reasonOf('FIRST', { userId: 'ann' })).toBe('not_first_order')
      expect(await reasonOf('FIRST', { userId: 'bea' })).toBeUndefined()
      expect(await reasonOf('FIRST', {})).toBe('person_required')

      const condition = { '==': [{ var: 'traits.plan' }, 'pro'] }
      await createPool(db, projectId, { codes: ['PROS'], rules: { condition } })
      await db.prisma.profile.update({ where: { id: bea }, data: { traits: { plan: 'pro' } } })
      expect(await reasonOf('PROS', { userId: 'bea' })).toBeUndefined()
      expect(await reasonOf('PROS', { userId: 'ann' })).toBe('condition_not_met')
      expect(await reasonOf('PROS', { visitorId: 'new' })).toBe('condition_not_met')
    })

    it('separates projects', async () => {
      await createPool(db, projectId, { codes: ['MINE'] })
      projectId = await createProject(db)
      expect((await validate({ code: 'MINE' })).coupons).toMatchObject([
        { code: 'MINE', reason: 'not_found' },
      ])
    })
  })

  describe('redeeming', () => {
    it('grants and stores what was validated, and publishes it', async () => {
      const pool = await createPool(db, projectId, {
        codes: ['TENTH'],
        rules: { includedCategories: ['clothes'] },
      })
      const items = [...shirts, { sku: 'mug', quantity: 1, unitAmount: 799 }]
      const body = { code: 'TENTH', userId: 'ann', orderId: 'o', ...cart, items }
      const validated = await validate({ code: 'TENTH', userId: 'ann', items })
      expect(validated.discountAmount).toBe(399)
      const first = await redeem(body, 'key')
      expect(first).toMatchObject({
        status: 200,
        body: {
          redemption: {
            discountAmount: 399,
            shippingDiscountAmount: 0,
            items: validated.items,
            currency: 'EUR',
          },
        },
      })
      const [stored] = await redemptionsOf(pool.id)
      expect(stored).toMatchObject({
        discountAmount: 399n,
        shippingDiscountAmount: 0n,
        items: [
          { ...shirts[0], discountAmount: 399 },
          { sku: 'mug', quantity: 1, unitAmount: 799, discountAmount: 0 },
        ],
        budgetCharge: null,
        rolledBackAmount: 0n,
      })
      const { rows } = await db.pool.query<{ topic: string; value: string }>(
        'SELECT topic, value FROM ingest.outbox',
      )
      const valueIn = (topic: string) => JSON.parse(rows.find((row) => row.topic === topic)?.value ?? '{}')
      expect(valueIn('coupons.redeemed.v1')).toMatchObject({
        kind: 'redeemed',
        discountAmount: 399,
        currency: 'EUR',
      })
      const record: IngestRecord = valueIn('ingest.records.v1')
      expect(record.event.properties).toMatchObject({
        discountAmount: 399,
        shippingDiscountAmount: 0,
        currency: 'EUR',
      })
      expect(await redeem(body, 'key')).toEqual({ ...first, replayed: true })
    })

    it('without items answers, stores and publishes the same fields as before', async () => {
      const pool = await createPool(db, projectId, { codes: ['PLAIN'] })
      const { body } = await redeem({ code: 'PLAIN', userId: 'ann', amount: 700, currency: 'EUR' })
      expect(Object.keys(body.redemption)).toEqual([
        ...['id', 'couponId', 'poolId', 'profileId', 'visitorId', 'userId', 'orderId', 'amount', 'currency'],
        ...['metadata', 'eventId', 'relatedEventId', 'redeemedAt'],
      ])
      expect(await redemptionsOf(pool.id)).toMatchObject([
        { discountAmount: null, items: null, budgetCharge: null },
      ])
      const { rows } = await db.pool.query<{ value: string }>('SELECT value FROM ingest.outbox')
      for (const { value } of rows) expect(value).not.toContain('discountAmount')
    })

    it('refuses a cart that does not meet the rules, with the state of the coupon first', async () => {
      const rules = { minimumAmount: 3991 }
      const discount = euros(100)
      const pool = await createPool(db, projectId, { codes: ['DEAR'], discount, rules })
      const refused = await redeem({ code: 'DEAR', ...cart }, 'key')
      expect(refused).toMatchObject({ status: 409, body: { reason: 'minimum_not_reached' } })
      expect(await redeem({ code: 'DEAR', ...cart }, 'key')).toEqual({ ...refused, replayed: true })
      expect(await db.prisma.couponAttempt.findMany({ where: { projectId } })).toMatchObject([
        { reason: 'minimum_not_reached' },
      ])
      await createPool(db, projectId, { codes: ['OLD'], discount, rules, expiresAt: new Date(0) })
      expect((await redeem({ code: 'OLD', ...cart })).body.reason).toBe('expired')
      expect((await redeem({ code: 'OLD' })).body.reason).toBe('expired')
      expect(await redeem({ code: 'DEAR' })).toMatchObject({
        status: 400,
        body: { error: expect.stringContaining('items and currency are required') },
      })
      await createPool(db, projectId, { codes: ['FIRST'], rules: { firstOrderOnly: true } })
      expect(await redeem({ code: 'FIRST', ...cart })).toMatchObject({
        status: 400,
        body: { error: expect.stringContaining('userId or visitorId') },
      })
      expect((await countsOf(pool.id)).redeemed).toBe(0)
    })

    it('grants each of several codes what was validated for all of them', async () => {
      await createPool(db, projectId, { codes: ['TENTH'], stackable: true })
      await createPool(db, projectId, { codes: ['FIVE'], stackable: true, discount: euros(500) })
      await createPool(db, projectId, { codes: ['ALONE'], discount: euros(100) })
      const { coupons } = await validate({ codes: ['FIVE', 'TENTH'] })
      const codes = ['FIVE', 'TENTH']
      for (const [place, code] of codes.entries()) {
        const { body } = await redeem({ code, ...cart, otherCodes: codes })
        expect(body.redemption.discountAmount).toBe(coupons[place]?.discountAmount)
      }
      expect((await redeem({ code: 'ALONE', ...cart, otherCodes: codes })).body.reason).toBe('not_stackable')
      expect((await redeem({ code: 'ALONE', ...cart, otherCodes: ['UNKNOWN'] })).status).toBe(200)
    })
  })

  describe('a budget', () => {
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

    it.each(['shared', 'unique'])(
      'is never exceeded by 200 concurrent redemptions of %s codes',
      async (kind) => {
        const budgetAmount = 50_000
        const pool = await createPool(db, projectId, {
          ...{ kind, codes: kind === 'shared' ? ['BUDGET'] : 200, budgetAmount, budgetCurrency: 'EUR' },
          discount: { type: 'percent', value: 50 },
        })
        const answers = await Promise.all(
          Array.from({ length: 200 }, (_, n) => {
            const items = [{ sku: 'a', quantity: 1, unitAmount: 2 * (100 + 7 * n) }]
            const code = pool.codes[kind === 'shared' ? 0 : n]
            const body = { code, userId: `u${n}`, currency: 'EUR', items }
            return redeemInTheEnd(body, undefined, n % 2 === 0 ? db : other)
          }),
        )
        const granted = answers.filter(({ status }) => status === 200)
        const total = granted.reduce((sum, { body }) => sum + body.redemption.discountAmount, 0)
        expect(total).toBeLessThanOrEqual(budgetAmount)
        const { granted: used, redeemed } = await countsOf(pool.id)
        expect([Number(used), redeemed]).toEqual([total, granted.length])
        const stored = await redemptionsOf(pool.id)
        expect(stored.reduce((sum, { budgetCharge }) => sum + Number(budgetCharge), 0)).toBe(total)
        const refused = answers.filter(({ status }) => status !== 200)
        expect(refused.length).toBeGreaterThan(0)
        expect(new Set(refused.map(({ body }) => body.reason))).toEqual(new Set(['budget_exhausted']))
        // Whatever was refused would not have fitted into what was left at the end.
        const least = Math.min(...answers.flatMap(({ status }, n) => (status === 200 ? [] : [100 + 7 * n])))
        expect(total + least).toBeGreaterThan(budgetAmount)
      },
    )

    it('is used up to its last unit, and not beyond', async () => {
      const budget = { budgetAmount: 1_000, budgetCurrency: 'EUR', discount: euros(500) }
      const pool = await createPool(db, projectId, { kind: 'shared', codes: ['EXACT'], ...budget })
      const statuses: number[] = []
      for (let n = 0; n < 3; n++) statuses.push((await redeem({ code: 'EXACT', ...cart })).status)
      expect(statuses).toEqual([200, 200, 409])
      expect((await validate({ code: 'EXACT' })).coupons).toMatchObject([{ reason: 'budget_exhausted' }])
      expect(Number((await countsOf(pool.id)).granted)).toBe(1_000)
    })

    it('is for carts in its currency, and needs a cart', async () => {
      await createPool(db, projectId, { codes: ['EUROS'], budgetAmount: 1_000, budgetCurrency: 'EUR' })
      expect((await redeem({ code: 'EUROS', ...cart, currency: 'USD' })).body.reason).toBe(
        'currency_mismatch',
      )
      expect((await redeem({ code: 'EUROS' })).status).toBe(400)
    })
  })

  describe('limits of a request', () => {
    const line = (n: number) => ({ sku: `s${n}`, quantity: 1, unitAmount: 1 })
    const lines = (count: number) => Array.from({ length: count }, (_, n) => line(n))

    it.each<[string, object, object, RegExp]>([
      ['lines', { items: lines(200) }, { items: lines(201) }, /^items /],
      [
        'units of a line',
        { items: [{ ...line(0), quantity: 1_000_000 }] },
        { items: [{ ...line(0), quantity: 1_000_001 }] },
        /^items\.0\.quantity /,
      ],
      [
        'amounts',
        { items: [{ ...line(0), unitAmount: Number.MAX_SAFE_INTEGER }], shippingAmount: 0 },
        { items: [{ ...line(0), unitAmount: Number.MAX_SAFE_INTEGER }], shippingAmount: 1 },
        /amount to more than 9007199254740991/,
      ],
      [
        'characters of a SKU',
        { items: [{ ...line(0), sku: 'x'.repeat(200) }] },
        { items: [{ ...line(0), sku: 'x'.repeat(201) }] },
        /^items\.0\.sku /,
      ],
      [
        'units from 1 up',
        { items: [line(0)] },
        { items: [{ ...line(0), quantity: 0 }] },
        /^items\.0\.quantity /,
      ],
      [
        'amounts from 0 up',
        { items: [{ ...line(0), unitAmount: 0 }] },
        { items: [{ ...line(0), unitAmount: -1 }] },
        /^items\.0\.unitAmount /,
      ],
    ])('%s', (_what, at, past, message) => {
      const body = { code: 'A', ...cart }
      expect(() => parseCart({ ...body, ...at })).not.toThrow()
      expect(() => parseRedeem({ ...body, ...at })).not.toThrow()
      expect(() => parseCart({ ...body, ...past })).toThrow(message)
      expect(() => parseRedeem({ ...body, ...past })).toThrow(message)
    })

    it('codes', () => {
      const codes = (count: number) => Array.from({ length: count }, (_, n) => `CODE${n}`)
      expect(() => parseCart({ ...cart, codes: codes(10) })).not.toThrow()
      expect(() => parseCart({ ...cart, codes: codes(11) })).toThrow(/^codes /)
      expect(() => parseCart({ ...cart, codes: [] })).toThrow(/^codes /)
      expect(() => parseCart({ ...cart, code: 'A', codes: ['B'] })).toThrow('Exactly one of code and codes')
      expect(() => parseCart(cart)).toThrow('Exactly one of code and codes')
      expect(() => parseRedeem({ code: 'A', ...cart, otherCodes: codes(9) })).not.toThrow()
      expect(() => parseRedeem({ code: 'A', ...cart, otherCodes: codes(10) })).toThrow(/^otherCodes /)
    })

    it('fields that need others', () => {
      expect(() => parseRedeem({ code: 'A', items: shirts })).toThrow(/^currency is required beside items/)
      expect(() => parseRedeem({ code: 'A', otherCodes: ['B'] })).toThrow(/^items is required beside/)
      expect(() => parseRedeem({ code: 'A', shippingAmount: 1 })).toThrow(/^items is required beside/)
    })
  })
})
