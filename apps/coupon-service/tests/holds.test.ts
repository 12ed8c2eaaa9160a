import { type Database, isTransient } from '@waymark/database'
import { createAssignCoupon, resolveProfiles } from '@waymark/pipeline'
import { services } from '@waymark/testing'
import { v7 as uuidv7 } from 'uuid'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createHolds, createRemoveEndedHolds, HOLD_LIMITS, type Holder } from '../src/hold-cart.ts'
import { createQualifyCart } from '../src/qualify-cart.ts'
import { parseQualify } from '../src/qualify-route.ts'
import { createRedeemCoupon } from '../src/redeem-coupon.ts'
import { parseRedeem } from '../src/redeem-route.ts'
import { createValidateCart } from '../src/validate-cart.ts'
import { parseCart } from '../src/validate-route.ts'
import { configsWith, createPool, createProject, openDatabases } from './pools.ts'

const device = { ip: null, userAgent: null }
const items = [{ sku: 'shirt', quantity: 2, unitAmount: 1_000 }]
const cart = { currency: 'EUR', items }
const euros = (value: number) => ({ type: 'amount', value, currency: 'EUR' })
const SECONDS = 600
const UNLIMITED = { perProject: 1_000_000, perPerson: { sec: 1_000_000, pub: 1_000_000 } }

describe.skipIf(!services)('holds', () => {
  let databases: Awaited<ReturnType<typeof openDatabases>>
  let db: Database
  let other: Database
  let projectId: string
  let now: number
  const clock = () => now
  const projectConfigs = configsWith()

  beforeAll(async () => {
    databases = await openDatabases()
    db = databases.db
    other = databases.other
  })
  beforeEach(async () => {
    now = Date.parse('2026-11-21T04:00:00Z')
    projectId = await createProject(db)
  })
  afterAll(async () => {
    await databases?.close()
  })

  type Options = Partial<Holder> & { where?: Database; holdLimits?: typeof HOLD_LIMITS }
  const holdsOf = ({ where = db, holdLimits = HOLD_LIMITS }: Options = {}) =>
    createHolds({ db: where, clock, holdLimits })
  const holder = ({ projectId: id = projectId, keyKind = 'sec' }: Options = {}): Holder => ({
    projectId: id,
    keyKind,
  })
  const validate = async (body: Record<string, unknown>, options: Options = {}) => {
    const { where = db } = options
    const request = parseCart({ ...cart, ...body })
    const compute = (replacedId: string | null = null) =>
      createValidateCart({ db: where, projectConfigs, clock })(projectId, request, replacedId)
    const { hold: seconds } = request
    if (seconds === null) return { ...(await compute()).answer, holdId: undefined, holdExpiresAt: undefined }
    return holdsOf(options).hold(holder(options), { ...request, seconds }, compute)
  }
  const hold = (body: Record<string, unknown>, options: Options = {}) =>
    validate({ hold: SECONDS, ...body }, options)
  const holdBest = async (body: Record<string, unknown> = {}, options: Options = {}) => {
    const { where = db } = options
    const request = parseQualify({ ...cart, ...body })
    const compute = (replacedId: string | null = null) =>
      createQualifyCart({ db: where, projectConfigs, clock })(projectId, request, replacedId)
    return holdsOf(options).hold(holder(options), { ...request, seconds: SECONDS }, compute)
  }
  const redeem = async (
    body: Record<string, unknown>,
    { where = db, ...options }: Options = {},
    key?: string,
  ) => {
    const { projectId: id, keyKind } = holder(options)
    const redeemCoupon = createRedeemCoupon({ db: where, projectConfigs, clock })
    const idempotency = key === undefined ? undefined : { key, keyKind, requestHash: JSON.stringify(body) }
    const redeemer = { projectId: id, device, hidesProfile: keyKind === 'pub' }
    const answer = await redeemCoupon(redeemer, parseRedeem(body), idempotency)
    return { status: answer.status, replayed: answer.replayed, body: JSON.parse(answer.body) }
  }
  /** Repeats requests that timed out without effect, as clients do. */
  const inTheEnd = async <T>(request: () => Promise<T>): Promise<T> => {
    for (;;) {
      try {
        return await request()
      } catch (error) {
        if (!isTransient(error) && (error as { code?: string }).code !== 'store_unavailable') throw error
      }
    }
  }
  const refName = (holdId = '', options: Options = {}) => ({ key: holdId, ...holder(options) })
  /** Expects the counters to be what redemptions and holds say, and resolves to those of a pool. */
  const countsOf = async (poolId: string) => {
    const { rows } = await db.pool.query<{
      redeemed: number
      granted: number
      held: number
      held_amount: number
      items: number
      charges: number
      redemptions: number
    }>(
      `SELECT n.redeemed, n.granted::int, n.held, n.held_amount::int,
         (SELECT count(*)::int FROM coupon.hold_items i WHERE i.pool_id = n.pool_id) AS items,
         (SELECT coalesce(sum(budget_charge), 0)::int FROM coupon.hold_items i WHERE i.pool_id = n.pool_id) AS charges,
         (SELECT count(*)::int FROM coupon.redemptions r WHERE r.pool_id = n.pool_id) AS redemptions
       FROM coupon.pool_counts n WHERE n.pool_id = $1`,
      [poolId],
    )
    const [row] = rows
    if (!row) throw new Error('the pool has a count')
    const { redeemed, granted, held, held_amount, items, charges, redemptions } = row
    expect({ held, held_amount, redeemed }).toEqual({
      held: items,
      held_amount: charges,
      redeemed: redemptions,
    })
    return { redeemed, granted, held, heldAmount: held_amount }
  }
  const heldInProject = async () =>
    (await db.prisma.couponHoldCount.findUnique({ where: { projectId } }))?.holds ?? 0

  it('keep a code for one cart, which redeems it once', async () => {
    const { id, codes } = await createPool(db, projectId, {
      codes: 2,
      discount: euros(300),
      perProfileLimit: 2,
    })
    const [code = '', second = ''] = codes
    const held = await hold({ code, userId: 'ann' })
    expect(held).toMatchObject({
      valid: true,
      discountAmount: 300,
      holdExpiresAt: new Date(now + SECONDS * 1000),
    })
    expect(await countsOf(id)).toEqual({ redeemed: 0, granted: 0, held: 1, heldAmount: 0 })

    expect(await hold({ code, userId: 'bob' })).toMatchObject({
      valid: false,
      coupons: [{ valid: false, reason: 'held' }],
    })
    expect((await hold({ code, userId: 'bob' })).holdId).toBeUndefined()
    expect(await redeem({ code, userId: 'ann' }, {}, 'refused')).toMatchObject({
      status: 409,
      body: { reason: 'held' },
    })
    // Another person's decision gets the other code.
    const [eve] = await resolveProfiles(db.pool, [{ projectId, visitorId: null, userId: 'eve' }])
    await db.pool.query(
      'UPDATE coupon.coupons SET held_until = now() + interval $$1 hour$$ WHERE hold_id IS NOT NULL',
    )
    expect(await createAssignCoupon(db, clock)(projectId, id, eve ?? '')).toMatchObject({
      code: expect.stringContaining(second.slice(0, 4)),
    })

    const { holdId } = held
    expect(() => parseRedeem({ holdId, code })).toThrow('code is not allowed beside holdId')
    expect(() => parseRedeem({ holdId, ...cart })).toThrow('items is not allowed beside holdId')
    const redeemed = await redeem({ holdId, orderId: 'o-1', metadata: { a: 1 } }, {}, 'key')
    expect(redeemed).toMatchObject({
      status: 200,
      body: {
        discountAmount: 300,
        redemptions: [
          {
            redemption: {
              userId: 'ann',
              orderId: 'o-1',
              currency: 'EUR',
              discountAmount: 300,
              metadata: { a: 1 },
            },
          },
        ],
      },
    })
    expect(await redeem({ holdId, orderId: 'o-1', metadata: { a: 1 } }, {}, 'key')).toEqual({
      ...redeemed,
      replayed: true,
    })
    expect((await redeem({ holdId, orderId: 'o-2' })).status).toBe(404)
    expect(await countsOf(id)).toEqual({ redeemed: 1, granted: 0, held: 0, heldAmount: 0 })
    expect(await db.prisma.couponProfileCount.findMany({ where: { poolId: id } })).toMatchObject([
      { redeemed: 1, held: 0 },
    ])
    expect(await heldInProject()).toBe(0)
  })

  it('end by time, at the millisecond', async () => {
    const { id, codes } = await createPool(db, projectId, {
      codes: 3,
      discount: euros(300),
      maxRedemptions: 3,
      budgetAmount: 900,
      budgetCurrency: 'EUR',
      perProfileLimit: 3,
    })
    const [first = '', second = '', third = ''] = codes
    const person = { userId: 'ann' }
    const redeemedInTime = await hold({ code: first, ...person })
    const ended = await hold({ code: second, ...person })
    await hold({ code: third, ...person })
    now += SECONDS * 1000 - 1
    expect(await validate({ code: second, userId: 'bob' })).toMatchObject({
      coupons: [{ reason: 'already_redeemed' }],
    })
    expect((await redeem({ holdId: redeemedInTime.holdId })).status).toBe(200)
    now += 1
    const { holdId: endedId } = ended
    expect((await redeem({ holdId: endedId })).status).toBe(404)
    expect(await holdsOf().renew(refName(endedId), SECONDS)).toBeUndefined()
    expect(await holdsOf().release(refName(endedId))).toBe(false)
    // Nothing has removed the holds that ended. Validating ignores them, and what is refused by their counts removes them.
    expect(await countsOf(id)).toMatchObject({ redeemed: 1, held: 2, heldAmount: 600 })
    expect(await validate({ code: second, ...person })).toMatchObject({ valid: true })
    expect((await redeem({ code: second, ...cart, ...person })).status).toBe(200)
    expect(await countsOf(id)).toEqual({ redeemed: 2, granted: 600, held: 0, heldAmount: 0 })
    expect(await hold({ code: third, ...person })).toMatchObject({ valid: true, holdId: expect.any(String) })
    now += SECONDS * 1000
    const removeEnded = createRemoveEndedHolds({ db, clock })
    expect([await removeEnded(), await removeEnded()]).toEqual([1, 0])
    expect(await countsOf(id)).toMatchObject({ held: 0, heldAmount: 0 })
    expect(await heldInProject()).toBe(0)
  })

  it('are renewed and released', async () => {
    const { id, codes } = await createPool(db, projectId, { codes: 1 })
    const [code = ''] = codes
    const { holdId } = await hold({ code, visitorId: 'v' }, { keyKind: 'pub' })
    now += (SECONDS - 1) * 1000
    expect(await holdsOf().renew(refName(holdId), SECONDS)).toEqual({
      holdId,
      holdExpiresAt: new Date(now + SECONDS * 1000),
    })
    now += (SECONDS - 1) * 1000
    expect(await validate({ code })).toMatchObject({ coupons: [{ reason: 'held' }] })
    // A hold of a page ends 30 minutes after it was made.
    const latest = new Date(now - 2 * (SECONDS - 1) * 1000 + 30 * 60_000)
    expect(await holdsOf().renew(refName(holdId, { keyKind: 'pub' }), 1_800)).toEqual({
      holdId,
      holdExpiresAt: latest,
    })
    expect(await holdsOf().release(refName(holdId))).toBe(true)
    expect(await holdsOf().release(refName(holdId))).toBe(false)
    expect(await validate({ code })).toMatchObject({ valid: true })
    expect(await countsOf(id)).toMatchObject({ held: 0 })
    expect(await heldInProject()).toBe(0)
  })

  it('are replaced by their id, so that requests can be repeated and carts can change', async () => {
    const { id, codes } = await createPool(db, projectId, {
      codes: 2,
      discount: euros(300),
      perProfileLimit: 1,
      maxRedemptions: 1,
      budgetAmount: 300,
      budgetCurrency: 'EUR',
    })
    const [code = '', second = ''] = codes
    const holdId = uuidv7()
    const person = { userId: 'ann', holdId }
    for (const sent of [code, code, second]) {
      expect(await hold({ code: sent, ...person })).toMatchObject({ valid: true, holdId })
      expect(await countsOf(id)).toMatchObject({ held: 1, heldAmount: 300 })
    }
    expect(await heldInProject()).toBe(1)
    // A request that holds nothing leaves the hold.
    expect(await hold({ code: 'NONE', ...person })).toMatchObject({ valid: false })
    expect(await hold({ code, userId: 'bob' })).toMatchObject({ valid: false })
    expect(await hold({ code: second, userId: 'bob', holdId: uuidv7() })).toMatchObject({ valid: false })
    now += SECONDS * 1000
    expect(await hold({ code, ...person })).toMatchObject({ valid: true, holdId })
    expect(await countsOf(id)).toMatchObject({ held: 1, heldAmount: 300 })
    const { codes: free } = await createPool(db, projectId, { codes: 1 })
    await expect(hold({ code: free[0], visitorId: 'v', holdId }, { keyKind: 'pub' })).rejects.toThrow(
      'holdId belongs to a hold that this key may not replace',
    )
    expect((await redeem({ holdId })).status).toBe(200)
    expect(() => parseCart({ ...cart, code, holdId })).toThrow('hold is required beside holdId')
  })

  it('reserve the promotions and codes of the best combination, and redeem all or none', async () => {
    const promotion = async (values: object) =>
      (await createPool(db, projectId, { kind: 'automatic', stackable: true, ...values })).id
    const budget = { budgetAmount: 500, budgetCurrency: 'EUR' }
    const scarce = await promotion({ discount: euros(500), ...budget })
    const { id: poolId } = await createPool(db, projectId, {
      kind: 'shared',
      codes: ['FIVE'],
      stackable: true,
      discount: euros(100),
      maxRedemptions: 1,
    })
    const held = await holdBest({ codes: ['FIVE'], userId: 'ann' })
    expect(held.best).toMatchObject({
      discountAmount: 600,
      promotions: [{ id: scarce }],
      codes: [{ code: 'FIVE' }],
    })
    const next = await holdBest({ codes: ['FIVE'], userId: 'bob' })
    expect(next).toMatchObject({
      best: { discountAmount: 0 },
      promotions: [],
      codes: [{ reason: 'already_redeemed' }],
    })
    expect(next.holdId).toBeUndefined()
    expect(await redeem({ promotions: [scarce], ...cart, orderId: 'o' })).toMatchObject({
      body: { reason: 'budget_exhausted' },
    })
    expect((await redeem({ holdId: held.holdId })).body.error).toContain('orderId is required')

    await db.prisma.couponPool.update({ where: { id: scarce }, data: { status: 'archived' } })
    expect(await redeem({ holdId: held.holdId, orderId: 'o' })).toMatchObject({
      status: 409,
      body: { reason: 'expired', promotionId: scarce },
    })
    expect([await countsOf(scarce), await countsOf(poolId)]).toMatchObject([
      { redeemed: 0, held: 1, heldAmount: 500 },
      { redeemed: 0, held: 1 },
    ])
    await db.prisma.couponPool.update({ where: { id: scarce }, data: { status: 'ready' } })
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, n) =>
        inTheEnd(() =>
          redeem({ holdId: held.holdId, orderId: `o${n}` }, { where: n % 2 === 0 ? db : other }),
        ),
      ),
    )
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, ...Array(9).fill(404)])
    expect([await countsOf(scarce), await countsOf(poolId)]).toEqual([
      { redeemed: 1, granted: 500, held: 0, heldAmount: 0 },
      { redeemed: 1, granted: 0, held: 0, heldAmount: 0 },
    ])
    // An order that has redemptions is not redeemed again.
    await createPool(db, projectId, { kind: 'shared', codes: ['MORE'], stackable: true })
    const [won] = answers.filter(({ status }) => status === 200)
    const orderId = won?.body.redemptions[0].redemption.orderId
    const more = await hold({ code: 'MORE' })
    expect(await redeem({ holdId: more.holdId, orderId })).toMatchObject({
      status: 400,
      body: { error: expect.stringContaining('orderId has redemptions') },
    })
  })

  it('are limited per person and project, also for a person who was merged', async () => {
    const { id, codes } = await createPool(db, projectId, { codes: 8, perProfileLimit: 6 })
    const at = (n: number) => codes[n] ?? ''
    for (let n = 0; n < 5; n++)
      expect(await hold({ code: at(n), visitorId: 'v' })).toMatchObject({ valid: true })
    await expect(hold({ code: at(5), visitorId: 'v' })).rejects.toMatchObject({
      code: 'rate_limited',
      message: expect.stringContaining('This person has 5 live holds'),
    })
    expect(await hold({ code: at(5), visitorId: 'w' }, { keyKind: 'pub' })).toMatchObject({ valid: true })
    await expect(hold({ code: at(6), visitorId: 'w' }, { keyKind: 'pub' })).rejects.toMatchObject({
      message: expect.stringContaining('1 live holds'),
    })
    const [visitor = '', user = ''] = await resolveProfiles(db.pool, [
      { projectId, visitorId: 'v', userId: null },
      { projectId, visitorId: null, userId: 'ann' },
    ])
    await db.pool.query('UPDATE ingest.profiles SET merged_into = $2 WHERE id = $1', [visitor, user])
    expect((await redeem({ code: at(6), userId: 'ann' })).status).toBe(200)
    expect(await redeem({ code: at(7), userId: 'ann' })).toMatchObject({
      body: { reason: 'already_redeemed' },
    })
    const limited = (perProject: number) => ({ holdLimits: { ...HOLD_LIMITS, perProject } })
    await expect(hold({ code: at(7), userId: 'zoe' }, limited(6))).rejects.toMatchObject({
      message: expect.stringContaining('This project has 6 live holds'),
    })
    expect(await hold({ code: at(7), userId: 'zoe' }, limited(7))).toMatchObject({ valid: true })
    now += SECONDS * 1000
    // Those that have ended count neither for the person nor for the project.
    expect(await hold({ code: at(7), userId: 'ann' }, limited(1))).toMatchObject({
      holdId: expect.any(String),
    })
    expect(await heldInProject()).toBe(1)
    expect(
      await db.prisma.couponProfileCount.findMany({ where: { poolId: id, profileId: user ?? '' } }),
    ).toMatchObject([{ redeemed: 1, held: 1 }])
  })

  it('are not reached from other projects, and those of servers not from pages', async () => {
    const { codes } = await createPool(db, projectId, { codes: 2 })
    const [code = '', second = ''] = codes
    const { holdId } = await hold({ code })
    const foreign = { projectId: await createProject(db) }
    for (const options of [foreign, { keyKind: 'pub' as const }]) {
      expect(await holdsOf().renew(refName(holdId, options), 10)).toBeUndefined()
      expect(await holdsOf().release(refName(holdId, options))).toBe(false)
      expect((await redeem({ holdId }, options)).status).toBe(404)
    }
    expect((await redeem({ holdId: uuidv7() })).status).toBe(404)
    expect(() => parseRedeem({ holdId: 'x' })).toThrow(/^holdId /)

    const page = { keyKind: 'pub' as const }
    await expect(hold({ code: second }, page)).rejects.toThrow('requires the visitorId')
    await expect(hold({ code: second, visitorId: 'v', userId: 'u' }, page)).rejects.toThrow('no userId')
    await createPool(db, projectId, { kind: 'shared', codes: ['ALL'] })
    await createPool(db, projectId, { codes: ['RICH'], budgetAmount: 10_000, budgetCurrency: 'EUR' })
    for (const other of ['ALL', 'RICH'])
      await expect(hold({ code: other, visitorId: 'v' }, page)).rejects.toThrow(
        'unique pools without a budget',
      )
    const own = await hold({ code: second, visitorId: 'v' }, page)
    expect((await redeem({ holdId: own.holdId }, page)).status).toBe(200)
    for (const seconds of [1, 1_800]) expect(parseCart({ ...cart, code, hold: seconds }).hold).toBe(seconds)
    for (const seconds of [0, 1_801, 1.5]) {
      expect(() => parseCart({ ...cart, code, hold: seconds })).toThrow(/^hold /)
      expect(() => parseQualify({ ...cart, hold: seconds })).toThrow(/^hold /)
    }
  })

  it('never exceed uses and budgets with 200 concurrent carts', async () => {
    const { id: unique, codes } = await createPool(db, projectId, {
      codes: 20,
      stackable: true,
      discount: euros(10),
    })
    const shared = { kind: 'shared', stackable: true, discount: euros(100) }
    const { id: uses } = await createPool(db, projectId, { ...shared, codes: ['USES'], maxRedemptions: 30 })
    const { id: budget } = await createPool(db, projectId, {
      ...shared,
      codes: ['BUDGET'],
      budgetAmount: 2_500,
      budgetCurrency: 'EUR',
    })
    const many = { holdLimits: UNLIMITED }
    const attempt = async (n: number) => {
      const where = n % 2 === 0 ? db : other
      const list = [codes[n % 20] ?? '', ...(n % 3 === 0 ? ['USES'] : []), ...(n % 4 === 0 ? ['BUDGET'] : [])]
      const wanted = n % 5 === 0 ? ['USES', 'BUDGET'] : list
      const person = { userId: `u${n % 50}` }
      if (n % 4 === 1)
        return (await inTheEnd(() => redeem({ codes: wanted, ...cart, ...person }, { where }))).status === 200
          ? 'redeemed'
          : 'refused'
      const { holdId } = await inTheEnd(() => hold({ codes: wanted, ...person }, { where, ...many }))
      if (holdId === undefined) return 'refused'
      if (n % 4 === 2)
        return (await inTheEnd(() => holdsOf({ where }).release(refName(holdId)))) ? 'released' : 'lost'
      if (n % 4 === 3) return 'held'
      return (await inTheEnd(() => redeem({ holdId }, { where }))).status === 200 ? 'redeemed' : 'lost'
    }
    const outcomes = await Promise.all(Array.from({ length: 200 }, (_, n) => attempt(n)))
    expect(outcomes).not.toContain('lost')
    const counts = {
      unique: await countsOf(unique),
      uses: await countsOf(uses),
      budget: await countsOf(budget),
    }
    expect(counts.uses.redeemed + counts.uses.held).toBeLessThanOrEqual(30)
    expect(counts.budget.granted + counts.budget.heldAmount).toBeLessThanOrEqual(2_500)
    const { rows } = await db.pool.query(
      `SELECT coupon_id FROM (
         SELECT coupon_id FROM coupon.redemptions WHERE pool_id = $1
         UNION ALL SELECT coupon_id FROM coupon.hold_items WHERE pool_id = $1) AS used
       GROUP BY coupon_id HAVING count(*) > 1`,
      [unique],
    )
    expect(rows).toEqual([])
    // What crashed shops held returns.
    now += SECONDS * 1000
    const rest = 30 - counts.uses.redeemed
    const again = await Promise.all(
      Array.from({ length: rest + 1 }, (_, n) =>
        inTheEnd(() => hold({ code: 'USES', userId: `v${n}` }, { where: n % 2 === 0 ? db : other, ...many })),
      ),
    )
    expect(again.filter(({ holdId }) => holdId !== undefined)).toHaveLength(rest)
    expect(await countsOf(uses)).toMatchObject({ held: rest })
  })
})
