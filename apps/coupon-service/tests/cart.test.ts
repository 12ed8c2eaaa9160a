import type { IngestRecord } from '@waymark/contracts/records/ingest-record'
import { type Database, isTransient } from '@waymark/database'
import { resolveProfiles } from '@waymark/pipeline'
import { services } from '@waymark/testing'
import fc from 'fast-check'
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

  const validate = async (body: Record<string, unknown>) => {
    const validateCart = createValidateCart({ db, projectConfigs, clock: Date.now })
    return (await validateCart(projectId, parseCart({ ...cart, ...body }))).answer
  }
  const redeem = async (body: Record<string, unknown>, key?: string, where = db) => {
    const redeemCoupon = createRedeemCoupon({ db: where, projectConfigs, clock: Date.now })
    const idempotency =
      key === undefined ? undefined : { key, keyKind: 'sec' as const, requestHash: JSON.stringify(body) }
    const {
      status,
      body: text,
      replayed,
    } = await redeemCoupon({ projectId, device }, parseRedeem(body), idempotency)
    return { status, replayed, text, body: JSON.parse(text) }
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
        projectId,
        profileId,
        eventKey: uuidv7(),
        selectorId: uuidv7(),
        eventId: 'e',
        currency: 'EUR',
        eventName: 'order_placed',
        amount: 100n,
        attribution: {},
        occurredAt: new Date(),
        receivedAt: new Date(),
        ...values,
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
        payments: [],
        paymentAmount: 0,
        amountDue: 4_081,
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
        'id',
        'couponId',
        'poolId',
        'profileId',
        'visitorId',
        'userId',
        'orderId',
        'amount',
        'currency',
        'metadata',
        'eventId',
        'relatedEventId',
        'redeemedAt',
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
  })

  describe('redeeming several codes', () => {
    const [FIVE, TENTH, SHIP] = [
      { codes: ['FIVE'], stackable: true, discount: euros(500) },
      { codes: ['TENTH'], stackable: true },
      { codes: ['SHIP'], stackable: true, discount: { type: 'free_shipping' } },
    ]

    it('grants what was validated for all of them, in the order of the request', async () => {
      for (const values of [FIVE, TENTH, SHIP]) await createPool(db, projectId, values)
      const codes = ['SHIP', 'FIVE', 'tenth']
      const { coupons, ...sums } = await validate({ codes })
      const first = await redeem({ codes, ...cart, userId: 'ann', orderId: 'o' }, 'key')
      expect(first.status).toBe(200)
      const { ok, redemptions, ...granted } = first.body
      expect({ valid: ok, ...granted }).toEqual(sums)
      type Redeemed = { coupon: { code: string; status: string }; redemption: { discountAmount: number } }
      expect(
        redemptions.map(({ coupon, redemption }: Redeemed) => [
          coupon.code,
          coupon.status,
          redemption.discountAmount,
        ]),
      ).toEqual(coupons.map(({ code, discountAmount }) => [code, 'redeemed', discountAmount]))
      const stored = await db.prisma.couponRedemption.findMany({ where: { projectId, orderId: 'o' } })
      expect(stored).toHaveLength(3)
      expect(new Set(stored.map(({ redeemedAt }) => redeemedAt.getTime())).size).toBe(1)
      const { rows } = await db.pool.query('SELECT topic FROM ingest.outbox')
      expect(rows.filter(({ topic }) => topic === 'coupons.redeemed.v1')).toHaveLength(3)
      expect(await redeem({ codes, ...cart, userId: 'ann', orderId: 'o' }, 'key')).toEqual({
        ...first,
        replayed: true,
      })
    })

    it('names the coupon that this person cannot redeem, not one that does not combine with it', async () => {
      const alone = { kind: 'shared', discount: euros(3_000) }
      await createPool(db, projectId, FIVE)
      const used = await createPool(db, projectId, { ...alone, codes: ['ONCE'], perProfileLimit: 1 })
      const hers = await createPool(db, projectId, { codes: ['HERS'], discount: euros(3_000) })
      const bea = await profileOf('bea')
      await db.pool.query('UPDATE coupon.coupons SET assigned_profile_id = $2 WHERE pool_id = $1', [
        hers.id,
        bea,
      ])
      const ann = { ...cart, userId: 'ann' }
      expect((await redeem({ code: 'ONCE', ...ann })).status).toBe(200)
      for (const code of ['ONCE', 'HERS']) {
        const validated = await validate({ codes: ['FIVE', code], userId: 'ann' })
        expect(validated.coupons.map(({ valid }) => valid)).toEqual([true, false])
        expect(await redeem({ codes: ['FIVE', code], ...ann })).toMatchObject({
          status: 409,
          body: { reason: 'already_redeemed', code },
        })
      }
      expect((await redeem({ codes: ['FIVE', 'ONCE'], ...cart })).status).toBe(400)
      expect((await countsOf(used.id)).redeemed).toBe(1)
      // Without it, as the answer says, the other one is redeemed.
      expect((await redeem({ codes: ['FIVE'], ...ann })).body.discountAmount).toBe(500)
    })

    it('redeems none when one cannot be redeemed, and names it', async () => {
      const pools = [await createPool(db, projectId, FIVE), await createPool(db, projectId, TENTH)]
      await createPool(db, projectId, { codes: ['ALONE'], discount: euros(1) })
      await createPool(db, projectId, { codes: ['LATE'], stackable: true, expiresAt: new Date(0) })
      const full = await createPool(db, projectId, { codes: ['FULL'], stackable: true, maxRedemptions: 1 })
      await db.prisma.couponPoolCount.update({ where: { poolId: full.id }, data: { redeemed: 1 } })
      await createPool(db, projectId, { ...FIVE, codes: ['POOR'], budgetAmount: 499, budgetCurrency: 'EUR' })
      const refused = async (code: string) => {
        const { status, body } = await redeem({ codes: ['FIVE', code, 'TENTH'], ...cart, userId: 'ann' })
        return [status, body.reason, body.code]
      }
      expect(await refused('ALONE')).toEqual([409, 'not_stackable', 'ALONE'])
      expect(await refused('LATE')).toEqual([409, 'expired', 'LATE'])
      expect(await refused('FULL')).toEqual([409, 'already_redeemed', 'FULL'])
      expect(await refused('POOR')).toEqual([409, 'budget_exhausted', 'POOR'])
      // It would grant most, so that the others do not combine with it.
      await createPool(db, projectId, { codes: ['PAST'], discount: euros(3_000), expiresAt: new Date(0) })
      expect(await refused('PAST')).toEqual([409, 'expired', 'PAST'])
      expect(await redeem({ codes: ['FIVE', 'NONE', 'NEITHER'], ...cart })).toMatchObject({
        status: 404,
        body: { error: 'codes.1 is not a coupon of this project' },
      })
      for (const { id } of pools) {
        expect(await countsOf(id)).toMatchObject({ redeemed: 0, granted: 0n })
        expect(await redemptionsOf(id)).toEqual([])
      }
      expect(await db.prisma.coupon.count({ where: { projectId, status: 'redeemed' } })).toBe(0)
      const attempts = await db.prisma.couponAttempt.findMany({
        where: { projectId },
        orderBy: { id: 'asc' },
      })
      expect(attempts.map(({ reason }) => reason)).toEqual([
        'not_stackable',
        'expired',
        'already_redeemed',
        'budget_exhausted',
        'expired',
      ])
      expect((await redeem({ codes: ['TENTH', 'FIVE'], ...cart })).status).toBe(200)
    })

    it('grants the sum that was validated for any cart, in any order of the codes', async () => {
      const discount = fc.oneof(
        fc.record({
          type: fc.constant('percent'),
          value: fc.integer({ min: 1, max: 1_000 }).map((n) => n / 10),
        }),
        fc.record({
          type: fc.constant('amount'),
          value: fc.nat({ max: 5_000 }),
          currency: fc.constant('EUR'),
        }),
        fc.record({ type: fc.constant('free_shipping') }),
        fc.record({
          type: fc.constant('buy_x_get_y'),
          buyQuantity: fc.integer({ min: 1, max: 2 }),
          getQuantity: fc.integer({ min: 1, max: 2 }),
        }),
      )
      const item = fc.record({
        sku: fc.constantFrom('a', 'b', 'c'),
        quantity: fc.integer({ min: 1, max: 4 }),
        unitAmount: fc.nat({ max: 3_000 }),
      })
      const pools = fc.array(fc.record({ discount, stackable: fc.boolean() }), { minLength: 1, maxLength: 5 })
      const carts = fc.record({
        items: fc.array(item, { minLength: 1, maxLength: 8 }),
        shippingAmount: fc.nat({ max: 900 }),
      })
      await fc.assert(
        fc.asyncProperty(
          pools,
          carts,
          fc.infiniteStream(fc.nat()),
          async (all, { items, shippingAmount }, keys) => {
            const codes: string[] = []
            for (const values of all)
              codes.push(...(await createPool(db, projectId, { ...values, kind: 'shared', codes: 1 })).codes)
            const body = { currency: 'EUR', items, shippingAmount }
            const { coupons, ...sums } = await validate({ codes, ...body })
            const valid = codes
              .filter((_code, index) => coupons[index]?.valid)
              .map((code) => ({ code, key: keys.next().value ?? 0 }))
              .sort((a, b) => a.key - b.key)
              .map(({ code }) => code)
            if (valid.length === 0) return
            const { status, body: redeemed } = await redeem({ codes: valid, ...body })
            const { redemptions, ok: _ok, ...granted } = redeemed
            const { valid: _valid, ...validated } = sums
            expect({ status, ...granted }).toEqual({ status: 200, ...validated })
            const amounts: number[] = redemptions.map(
              ({ redemption }: { redemption: { discountAmount: number } }) => redemption.discountAmount,
            )
            expect(amounts.reduce((sum, amount) => sum + amount, 0)).toBe(validated.discountAmount)
            const cost = items.reduce(
              (sum, { quantity, unitAmount }) => sum + quantity * unitAmount,
              shippingAmount,
            )
            expect(validated.discountAmount).toBeLessThanOrEqual(cost)
          },
        ),
        { numRuns: 40 },
      )
    })

    it('keeps budgets and limits in 200 concurrent requests with several codes, without a deadlock', async () => {
      const share = { kind: 'shared', stackable: true }
      const pools = [
        await createPool(db, projectId, {
          ...share,
          codes: ['CODEA'],
          budgetAmount: 20_000,
          budgetCurrency: 'EUR',
        }),
        await createPool(db, projectId, {
          ...share,
          codes: ['CODEB'],
          maxRedemptions: 120,
          discount: euros(50),
        }),
        await createPool(db, projectId, {
          ...share,
          codes: ['CODEC'],
          perProfileLimit: 4,
          discount: euros(20),
        }),
        await createPool(db, projectId, { ...share, codes: ['CODED'], discount: { type: 'free_shipping' } }),
      ]
      const conflicts: unknown[] = []
      const watched = (from: Database): Database => ({
        ...from,
        transaction: (...run) =>
          from.transaction(...run).catch((error) => {
            if (error.code === '40P01') conflicts.push(error)
            throw error
          }),
      })
      const [one, two] = [watched(db), watched(other)]
      // Each pair of codes in each of both orders, and all of them in four orders.
      const lists = ['AB', 'BA', 'BC', 'CB', 'CA', 'AC', 'ABCD', 'DCBA', 'BDAC', 'CADB'].map((list) =>
        [...list].map((letter) => `CODE${letter}`),
      )
      const requests = Array.from({ length: 200 }, (_, n) => {
        const items = [{ sku: 'a', quantity: 1, unitAmount: 2_000 + 10 * n }]
        const person = { userId: `u${n % 20}`, orderId: `o${n}` }
        return {
          codes: lists[n % lists.length] ?? [],
          currency: 'EUR',
          items,
          shippingAmount: 490,
          ...person,
        }
      })
      const answers = await Promise.all(
        requests.map((body, n) => redeemInTheEnd(body, undefined, n % 2 === 0 ? one : two)),
      )
      expect(conflicts).toEqual([])
      const stored = await db.prisma.couponRedemption.findMany({ where: { projectId } })
      const byOrder = Map.groupBy(stored, ({ orderId }) => orderId)
      answers.forEach(({ status, body }, n) => {
        const { codes, orderId } = requests[n] ?? { codes: [], orderId: '' }
        const ofOrder = byOrder.get(orderId) ?? []
        expect(ofOrder).toHaveLength(status === 200 ? codes.length : 0)
        if (status !== 200) return
        expect(ofOrder.reduce((sum, { discountAmount }) => sum + Number(discountAmount), 0)).toBe(
          body.discountAmount,
        )
      })
      const [a, b, c] = await Promise.all(pools.map(({ id }) => countsOf(id)))
      const charged = stored.reduce((sum, { budgetCharge }) => sum + Number(budgetCharge), 0)
      expect(Number(a?.granted)).toBe(charged)
      expect(charged).toBeLessThanOrEqual(20_000)
      expect(b?.redeemed).toBeLessThanOrEqual(120)
      for (const [index, count] of [a, b, c].entries())
        expect(count?.redeemed).toBe(stored.filter(({ poolId }) => poolId === pools[index]?.id).length)
      const ofPersons = Map.groupBy(
        stored.filter(({ poolId }) => poolId === pools[2]?.id),
        ({ profileId }) => profileId,
      )
      for (const [, redeemed] of ofPersons) expect(redeemed.length).toBeLessThanOrEqual(4)
      expect(new Set(answers.map(({ status, body }) => body.reason ?? status))).toEqual(
        new Set([200, 'budget_exhausted', 'already_redeemed']),
      )
    })
  })

  describe('redeeming for one order again', () => {
    const codes = async () => {
      await createPool(db, projectId, { codes: ['FIVE'], stackable: true, discount: euros(500) })
      await createPool(db, projectId, {
        codes: ['HALF'],
        stackable: true,
        discount: { type: 'percent', value: 50 },
      })
      await createPool(db, projectId, { codes: ['ALONE'], discount: euros(100) })
    }

    it('applies to what the earlier redemptions left', async () => {
      await codes()
      const order = { ...cart, orderId: 'o' }
      expect((await redeem({ code: 'FIVE', ...order })).body.redemption.discountAmount).toBe(500)
      expect(await redeem({ code: 'ALONE', ...order })).toMatchObject({
        status: 409,
        body: { reason: 'not_stackable' },
      })
      // Half of 3990 - 500.
      expect((await redeem({ code: 'HALF', ...order })).body.redemption.discountAmount).toBe(1745)
      // Another order, one of another project, and one without an id have nothing in common with it.
      expect((await redeem({ code: 'ALONE', ...cart, orderId: 'p' })).status).toBe(200)
      const first = projectId
      projectId = await createProject(db)
      await codes()
      expect((await redeem({ code: 'HALF', ...order })).body.redemption.discountAmount).toBe(1995)
      expect((await redeem({ code: 'ALONE', ...cart })).status).toBe(200)
      projectId = first
    })

    it('is refused for other items or another currency, unless the earlier redemption is rolled back', async () => {
      await codes()
      const order = { ...cart, orderId: 'o' }
      await redeem({ code: 'FIVE', ...order })
      const items = [...shirts, { sku: 'mug', quantity: 1, unitAmount: 100_000 }]
      for (const other of [{ items }, { currency: 'USD' }])
        expect(await redeem({ code: 'HALF', ...order, ...other }, 'key')).toMatchObject({
          status: 400,
          body: {
            error: expect.stringContaining('items and currency must be those of the earlier redemptions'),
          },
        })
      await db.prisma.couponRedemption.updateMany({
        where: { projectId, orderId: 'o' },
        data: { rolledBackAt: new Date() },
      })
      expect((await redeem({ code: 'HALF', ...order, items }, 'key')).body.redemption.discountAmount).toBe(
        51_995,
      )
    })

    it('ignores redemptions without items', async () => {
      await createPool(db, projectId, { codes: ['PLAIN'] })
      await codes()
      expect((await redeem({ code: 'PLAIN', orderId: 'o' })).status).toBe(200)
      expect((await redeem({ code: 'ALONE', ...cart, orderId: 'o' })).status).toBe(200)
    })

    it('never grants more than the cart costs to concurrent requests', async () => {
      const pools = await Promise.all(
        Array.from({ length: 40 }, (_, n) =>
          createPool(db, projectId, { codes: [`CODE${n}X`], stackable: true, discount: euros(300) }),
        ),
      )
      const answers = await Promise.all(
        pools.map(({ codes: [code] }, n) =>
          redeemInTheEnd({ code, ...cart, orderId: 'o' }, undefined, n % 2 === 0 ? db : other),
        ),
      )
      const amounts = answers.map(({ body }) => body.redemption.discountAmount)
      // 13 times 300 of 3990, then what is left, then nothing.
      expect(amounts.toSorted((a, b) => b - a)).toEqual([
        ...Array.from({ length: 13 }, () => 300),
        90,
        ...Array.from({ length: 26 }, () => 0),
      ])
    })
  })

  describe('a budget', () => {
    it.each(['shared', 'unique'])(
      'is never exceeded by 200 concurrent redemptions of %s codes',
      async (kind) => {
        const budgetAmount = 50_000
        const pool = await createPool(db, projectId, {
          kind,
          codes: kind === 'shared' ? ['BUDGET'] : 200,
          budgetAmount,
          budgetCurrency: 'EUR',
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
      expect(() => parseRedeem({ ...cart, codes: codes(10) })).not.toThrow()
      expect(() => parseRedeem({ ...cart, codes: codes(11) })).toThrow(/^codes /)
      expect(() => parseRedeem({ ...cart, codes: [] })).toThrow(/^codes /)
      expect(() => parseRedeem({ ...cart, code: 'A', codes: ['B'] })).toThrow('Exactly one of code and codes')
      expect(() => parseRedeem({})).toThrow('Exactly one of code and codes')
      expect(() => parseRedeem({ ...cart, codes: ['ab-c', 'X', 'ABC'] })).toThrow('codes.2 occurs twice')
    })

    it('fields that need others', () => {
      expect(() => parseRedeem({ code: 'A', items: shirts })).toThrow(/^currency is required beside items/)
      expect(() => parseRedeem({ codes: ['A'] })).toThrow(/^items is required beside/)
      expect(() => parseRedeem({ code: 'A', shippingAmount: 1 })).toThrow(/^items is required beside/)
    })
  })
})
