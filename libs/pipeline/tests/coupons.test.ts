import type { CouponStatus } from '@waymark/contracts/coupon'
import { openDatabase } from '@waymark/database'
import { createTestDatabase, eventually, services } from '@waymark/testing'
import { v7 as uuidv7 } from 'uuid'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type AssignedCoupon, createAssignCoupon } from '../src/coupons/assign-coupon.ts'
import { insertCoupons } from '../src/coupons/coupon-queries.ts'
import { applyIdentify } from '../src/identity/apply-identify.ts'
import { resolveProfiles } from '../src/identity/identity-queries.ts'
import { eraseProfile } from '../src/personal-data/erase-profile-queries.ts'

describe.skipIf(!services)('assigning coupons', () => {
  let database: Awaited<ReturnType<typeof createTestDatabase>>
  let db: ReturnType<typeof openDatabase>
  let other: ReturnType<typeof openDatabase>
  let projectId: string

  beforeAll(async () => {
    database = await createTestDatabase()
    const open = () =>
      openDatabase({ url: database.url, poolSize: 20, applicationName: 'test', onError: () => {} })
    db = open()
    other = open()
  })
  beforeEach(async () => {
    const tenant = { create: { id: uuidv7(), name: 'Shop' } }
    projectId = (await db.prisma.project.create({ data: { id: uuidv7(), name: 'Shop', tenant } })).id
  })
  afterAll(async () => {
    await db.close()
    await other.close()
    await database.drop()
  })

  const aPool = async (
    count: number,
    values: { kind?: string; status?: string; maxRedemptions?: number } = {},
  ) => {
    const id = uuidv7()
    await db.prisma.couponPool.create({
      data: {
        ...{
          id,
          projectId,
          name: 'p',
          kind: 'unique',
          status: 'ready',
          prefix: '',
          alphabet: 'AB',
          length: 8,
        },
        size: count,
        generated: count,
        discount: { type: 'free_shipping' },
        count: { create: {} },
        ...values,
      },
    })
    const codes = Array.from({ length: count }, () => ({
      code: uuidv7().replaceAll('-', '').toUpperCase(),
      display: null,
    }))
    await db.transaction((client) => insertCoupons(client, { id, projectId }, codes))
    return id
  }
  const aProfile = async (): Promise<string> => {
    const id = uuidv7()
    await db.prisma.profile.create({ data: { id, projectId, bucketingId: id, traits: {} } })
    return id
  }
  const assign = (poolId: string, profileId: string, where = db) =>
    createAssignCoupon(where)(projectId, poolId, profileId)
  const assigned = async (...args: Parameters<typeof assign>): Promise<AssignedCoupon> => {
    const answer = await assign(...args)
    if ('reason' in answer) throw new Error(answer.reason)
    return answer
  }
  const setStatus = (id: string, status: CouponStatus) =>
    db.prisma.coupon.update({ where: { id }, data: { status } })

  it('assigns a different coupon to each of 100 people, over several processes', async () => {
    const poolId = await aPool(100)
    const coupons = await Promise.all(
      Array.from({ length: 100 }, (_, n) =>
        aProfile().then((id) => assigned(poolId, id, n % 2 === 0 ? db : other)),
      ),
    )
    expect(new Set(coupons.map(({ couponId }) => couponId)).size).toBe(100)
    expect(await assign(poolId, await aProfile())).toEqual({ reason: 'exhausted' })
  })

  it('assigns one coupon to a person for 50 concurrent requests, also if it is the only one', async () => {
    const poolId = await aPool(1)
    const profileId = await aProfile()
    const coupons = await Promise.all(
      Array.from({ length: 50 }, (_, n) => assigned(poolId, profileId, n % 2 === 0 ? db : other)),
    )
    expect(new Set(coupons.map(({ code }) => code)).size).toBe(1)
    expect(await db.prisma.coupon.count({ where: { poolId, status: 'assigned' } })).toBe(1)
  })

  it('waits for a transaction that has locked the last coupon, however long it takes', async () => {
    const poolId = await aPool(1)
    const profileId = await aProfile()
    const holder = await other.pool.connect()
    await holder.query('BEGIN')
    await holder.query('SELECT 1 FROM coupon.coupons WHERE pool_id = $1 FOR UPDATE', [poolId])
    const answer = assigned(poolId, profileId)
    await eventually('it waits for the coupon', async () => {
      const { rowCount } = await other.pool.query(
        `SELECT 1 FROM pg_stat_activity
         WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%coupon.assignments%'`,
      )
      return rowCount === 1
    })
    await holder.query('ROLLBACK')
    holder.release()
    expect(await answer).toMatchObject({ status: 'assigned' })
  })

  it('assigns no coupon to an erased person', async () => {
    const poolId = await aPool(1)
    const profileId = await aProfile()
    const erased = await eraseProfile({ db, now: Date.now }, { projectId, profileId })
    expect(erased).toBeDefined()
    expect(await assign(poolId, profileId)).toHaveProperty('reason')
    expect(await db.prisma.couponAssignment.count({ where: { poolId } })).toBe(0)
    expect(await assign(poolId, await aProfile())).toHaveProperty('code')
  })

  it('returns a redeemed coupon again, and not a revoked one', async () => {
    const poolId = await aPool(5)
    const profileId = await aProfile()
    const { couponId } = await assigned(poolId, profileId)
    await setStatus(couponId, 'redeemed')
    expect(await assign(poolId, profileId)).toMatchObject({ couponId, status: 'redeemed' })
    await setStatus(couponId, 'revoked')
    expect(await assign(poolId, profileId)).toEqual({ reason: 'revoked' })
  })

  it('assigns the visitor’s coupon to the user after a login', async () => {
    const poolId = await aPool(5)
    const profileOf = async (visitorId: string | null, userId: string | null) =>
      (await resolveProfiles(db.pool, [{ projectId, visitorId, userId }]))[0] ?? ''
    const { couponId } = await assigned(poolId, await profileOf('laptop', null))
    await profileOf(null, 'ann')
    const about = { projectId, receivedAt: new Date().toISOString(), visitorId: 'laptop', userId: 'ann' }
    await applyIdentify(db, { v: 1, kind: 'identify', id: uuidv7(), traits: {}, ...about })
    expect(await assigned(poolId, await profileOf(null, 'ann'))).toMatchObject({ couponId })
    expect(await db.prisma.coupon.count({ where: { poolId, status: 'assigned' } })).toBe(1)
  })

  it('returns the code of a shared pool to everyone until its limit of redemptions', async () => {
    const poolId = await aPool(1, { kind: 'shared', maxRedemptions: 2 })
    const [a, b] = [await assigned(poolId, await aProfile()), await assigned(poolId, await aProfile())]
    expect(a).toEqual(b)
    await db.prisma.couponPoolCount.update({ where: { poolId }, data: { redeemed: 2 } })
    expect(await assign(poolId, await aProfile())).toEqual({ reason: 'exhausted' })
  })

  it('returns the reason why there is none', async () => {
    expect(await assign(await aPool(1, { status: 'generating' }), uuidv7())).toEqual({
      reason: 'pool_not_ready',
    })
    expect(await assign(await aPool(1, { status: 'archived' }), uuidv7())).toEqual({ reason: 'expired' })
    const poolId = await aPool(1)
    projectId = uuidv7()
    expect(await assign(poolId, await aProfile())).toEqual({ reason: 'not_found' })
  })
})
