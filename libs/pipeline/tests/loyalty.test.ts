import type { LoyaltyProgramme } from '@waymark/contracts/loyalty'
import { isTransient, openDatabase, retryConflicts } from '@waymark/database'
import { anEnrichedEvent, createTestDatabase, seededRandom, services } from '@waymark/testing'
import type { ClientBase } from 'pg'
import { v7 as uuidv7 } from 'uuid'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { lockOrderId } from '../src/coupons/index.ts'
import { createEventWriter } from '../src/events/event-writer.ts'
import { applyIdentify } from '../src/identity/apply-identify.ts'
import { resolveProfiles } from '../src/identity/identity-queries.ts'
import {
  adjustPoints,
  createExpirePoints,
  earnPoints,
  readPoints,
  reverseOrder,
  spendOnOrder,
} from '../src/loyalty/index.ts'
import { eraseProfile } from '../src/personal-data/erase-profile-queries.ts'
import { personalData } from '../src/personal-data/personal-data-queries.ts'
import { createPurger } from '../src/personal-data/purge.ts'

const SELECTOR = uuidv7()
const AT = new Date('2026-11-20T12:00:00Z')
const rate = { points: 100, amount: 100, currency: 'EUR' }

describe.skipIf(!services)('loyalty points', () => {
  let database: Awaited<ReturnType<typeof createTestDatabase>>
  let db: ReturnType<typeof openDatabase>
  let projectId: string

  beforeAll(async () => {
    database = await createTestDatabase()
    db = openDatabase({ url: database.url, poolSize: 10, applicationName: 'test', onError: () => {} })
    const tenant = { create: { id: uuidv7(), name: 'Shop' } }
    projectId = (await db.prisma.project.create({ data: { id: uuidv7(), name: 'Shop', tenant } })).id
  })
  afterAll(async () => {
    await db.close()
    await database.drop()
  })

  const newProgramme = async (values: Partial<LoyaltyProgramme> = {}): Promise<LoyaltyProgramme> => {
    const programme: LoyaltyProgramme = {
      id: uuidv7(),
      key: uuidv7(),
      status: 'active',
      rules: [{ selectorId: SELECTOR, points: 1, perAmount: 100, currency: 'EUR' }],
      expiryMonths: null,
      spending: rate,
      tiers: [],
      ...values,
    }
    const { id, key } = programme
    await db.prisma.loyaltyProgramme.create({ data: { id, projectId, key, name: 'Club', rules: [] } })
    return programme
  }
  const newPerson = async () => {
    const userId = uuidv7()
    const [profileId = ''] = await resolveProfiles(db.pool, [{ projectId, visitorId: null, userId }])
    return { userId, profileId: profileId ?? '' }
  }
  type Ordered = { orderId?: string; amount?: number; at?: Date; eventId?: string }
  const order = (
    profileId: string,
    { orderId, amount = 10_000, at = AT, eventId = uuidv7() }: Ordered = {},
  ) => ({
    ...anEnrichedEvent({ event: { eventId, properties: { ...(orderId !== undefined && { orderId }) } } }),
    projectId,
    profileId,
    timestamp: at.toISOString(),
    conversions: [{ selectorId: SELECTOR, amount, currency: 'EUR', quantity: null }],
  })
  /** Repeats what waited for too long or for each other, as consumers and clients do. */
  const transact = async <T>(run: (client: ClientBase) => Promise<T>): Promise<T> => {
    for (;;) {
      try {
        return await retryConflicts(() => db.transaction(run))
      } catch (error) {
        if (!isTransient(error)) throw error
      }
    }
  }
  const earn = (programme: LoyaltyProgramme, ...events: ReturnType<typeof order>[]) =>
    transact((client) => earnPoints(client, events, () => [programme], AT))
  const spend = (
    { id: programmeId }: LoyaltyProgramme,
    profileIds: string[],
    {
      orderId = uuidv7(),
      wanted = null,
      due = 1_000_000,
      at = AT,
    }: { orderId?: string; wanted?: number | null; due?: number; at?: Date } = {},
  ) =>
    transact(async (client) => {
      await lockOrderId(client, projectId, orderId)
      return spendOnOrder(client, { projectId, programmeId, profileIds }, { orderId, rate, wanted, due, at })
    })
  const reverse = (orderId: string, at = AT) =>
    transact(async (client) => {
      await lockOrderId(client, projectId, orderId)
      return reverseOrder(client, { projectId, orderId, at })
    })
  const balanceOf = async (programme: LoyaltyProgramme, profileIds: string[], at = AT) =>
    (await readPoints(db.pool, profileIds, { at, programmeId: programme.id }))[0]?.balance ?? 0
  /** Sums that are not those of their entries. */
  const wrongSums = async () =>
    (
      await db.pool.query(`
        SELECT a.id FROM coupon.point_accounts a LEFT JOIN coupon.point_entries e ON e.account_id = a.id
        GROUP BY a.id HAVING coalesce(sum(e.points), 0) <> 0
          OR coalesce(sum(e.points) FILTER (WHERE e.account = 'person'), 0) <> a.balance
          OR coalesce(sum(e.points) FILTER (WHERE e.account = 'earned'), 0) <> -a.earned
          OR a.balance <> (SELECT coalesce(sum(points), 0) FROM coupon.point_lots WHERE account_id = a.id)
        UNION ALL
        SELECT l.id FROM coupon.point_lots l JOIN coupon.point_entries e ON e.lot_id = l.id
        GROUP BY l.id HAVING sum(e.points) <> l.points`)
    ).rows

  it('are earned once per event, with the claim of its id', async () => {
    const programme = await newProgramme()
    const { profileId } = await newPerson()
    const configs = {
      get: async () => ({ loyaltyProgrammes: [programme], decisions: {}, settings: {} }) as never,
    }
    const eventStore = { storeEvents: async () => {}, eraseEvents: async () => {} } as never
    const write = createEventWriter({ db, eventStore, projectConfigs: configs })
    const event = order(profileId, { amount: 1_999 })
    await Promise.all([write([event, event]), write([event])])
    await write([event])
    expect(await balanceOf(programme, [profileId])).toBe(19)
    // The claim of an old event is forgotten, its points are not.
    await earn(programme, event)
    expect(await balanceOf(programme, [profileId])).toBe(19)
  })

  it('are not earned in a paused programme, by imported events, and without a person', async () => {
    const programme = await newProgramme()
    const { profileId } = await newPerson()
    await earn({ ...programme, status: 'paused' }, order(profileId))
    await earn(programme, { ...order(profileId), backfill: true }, { ...order(''), profileId: null } as never)
    expect(await balanceOf(programme, [profileId])).toBe(0)
  })

  it('expire in the order in which they were earned, and the oldest are spent first', async () => {
    const programme = await newProgramme({ expiryMonths: 1 })
    const { profileId } = await newPerson()
    const day = (date: string) => new Date(`${date}T12:00:00.000Z`)
    await earn(programme, order(profileId, { at: day('2026-11-10') }))
    await earn(programme, order(profileId, { at: day('2026-11-01'), amount: 5_000 }))
    await spend(programme, [profileId], { wanted: 30, at: day('2026-11-20') })
    const pointsAt = async (at: Date) =>
      (await readPoints(db.pool, [profileId], { at, programmeId: programme.id }))[0]
    expect(await pointsAt(day('2026-11-20'))).toMatchObject({
      balance: 120,
      earned: 150,
      nextExpiry: { points: 20, at: day('2026-12-01') },
    })
    const end = day('2026-12-01')
    expect((await pointsAt(new Date(end.getTime() - 1)))?.balance).toBe(120)
    expect((await pointsAt(end))?.balance).toBe(100)
    // Also before they are moved, expired points are not spent.
    expect(await spend(programme, [profileId], { wanted: 101, at: end })).toEqual({
      refusal: 'insufficient_points',
    })
    const expire = createExpirePoints({ db, clock: () => end.getTime() })
    expect([await expire(), await expire()]).toEqual([1, 0])
    expect((await pointsAt(day('2026-11-20')))?.balance).toBe(100)
  })

  it('are spent once per order, never more than there are', async () => {
    const programme = await newProgramme()
    const { profileId } = await newPerson()
    await earn(programme, order(profileId))
    const all = await Promise.all(
      Array.from({ length: 20 }, () => spend(programme, [profileId], { wanted: 7 })),
    )
    expect(all.filter((spent) => 'points' in spent)).toHaveLength(14)
    expect(await balanceOf(programme, [profileId])).toBe(2)
  })

  it('are reversed with their order, and an order that was reversed earns nothing later', async () => {
    const programme = await newProgramme()
    const { profileId } = await newPerson()
    const orderId = uuidv7()
    await earn(programme, order(profileId, { orderId: uuidv7(), amount: 3_000 }))
    await spend(programme, [profileId], { orderId, wanted: 20 })
    await earn(programme, order(profileId, { orderId }))
    expect(await reverse(orderId)).toMatchObject([{ earned: 100, spent: 20, shortfall: 0 }])
    expect(await reverse(orderId)).toEqual([])
    await earn(programme, order(profileId, { orderId }))
    expect(await balanceOf(programme, [profileId])).toBe(30)
  })

  it('that were spent meanwhile are taken of others, and never below zero', async () => {
    const programme = await newProgramme()
    const { profileId } = await newPerson()
    const orderId = uuidv7()
    await earn(programme, order(profileId, { orderId }))
    await spend(programme, [profileId], { wanted: 80 })
    await earn(programme, order(profileId, { amount: 3_000 }))
    expect(await reverse(orderId)).toMatchObject([{ earned: 50, spent: 0, shortfall: 50 }])
    expect(await balanceOf(programme, [profileId])).toBe(0)
  })

  it('that had expired are not taken of others when their order is reversed', async () => {
    const programme = await newProgramme({ expiryMonths: 1 })
    const { profileId } = await newPerson()
    const [orderId, later] = [uuidv7(), new Date('2027-01-10T12:00:00.000Z')]
    await earn(programme, order(profileId, { orderId }))
    await earn(programme, order(profileId, { at: later }))
    expect(await reverse(orderId, later)).toMatchObject([{ earned: 100, shortfall: 0 }])
    expect(await balanceOf(programme, [profileId], later)).toBe(100)
  })

  it('of two people who are merged are those of one', async () => {
    const programme = await newProgramme()
    const [visitorId, userId] = [uuidv7(), uuidv7()]
    const [visitors, users] = await resolveProfiles(db.pool, [
      { projectId, visitorId, userId: null },
      { projectId, visitorId: null, userId },
    ])
    await earn(programme, order(visitors ?? ''), order(users ?? ''))
    const receivedAt = AT.toISOString()
    await applyIdentify(db, {
      v: 1,
      kind: 'identify',
      id: uuidv7(),
      projectId,
      receivedAt,
      visitorId,
      userId,
      traits: {},
    })
    // An event that was resolved before the merge and stored after it.
    await earn(programme, order(visitors ?? ''))
    const both = [users ?? '', visitors ?? '']
    expect(await balanceOf(programme, both)).toBe(300)
    expect(await spend(programme, both, { wanted: 250 })).toMatchObject({ points: 250, balance: 50 })
    expect(await wrongSums()).toEqual([])
  })

  it('of an erased person stay in the sums, without the person and their orders', async () => {
    const programme = await newProgramme()
    const { profileId } = await newPerson()
    await earn(programme, order(profileId, { orderId: 'order of a person' }))
    await eraseProfile({ db, now: () => AT.getTime() }, { projectId, profileId })
    async function* none(): AsyncGenerator<never, void, undefined> {}
    await createPurger({
      db,
      eventStore: { readEvents: none } as never,
      cache: { delete: async () => {} } as never,
      data: personalData.filter(({ name }) => name.startsWith('point')),
    }).purgeAll(new AbortController().signal)
    const { rows } = await db.pool.query(
      'SELECT profile_id, balance FROM coupon.point_accounts WHERE programme_id = $1',
      [programme.id],
    )
    expect(rows).toEqual([{ profile_id: null, balance: '100' }])
    const left = await db.pool.query(
      "SELECT FROM coupon.point_movements WHERE order_id = 'order of a person'",
    )
    expect(left.rowCount).toBe(0)
    expect(await wrongSums()).toEqual([])
  })

  it('amount to their entries after random concurrent movements', async () => {
    const programme = await newProgramme({ expiryMonths: 1 })
    const people = await Promise.all([newPerson(), newPerson()])
    const profileIds = people.map((person) => person.profileId)
    const orders = Array.from({ length: 8 }, () => uuidv7())
    const { below } = seededRandom()
    const pick = <T>(all: readonly T[]): T => all[below(all.length)] as T
    const time = () => new Date(AT.getTime() + below(60) * 24 * 3_600_000)
    const expire = createExpirePoints({ db, clock: () => time().getTime() })
    const actions = [
      () => earn(programme, order(pick(profileIds), { orderId: pick(orders), at: time() })),
      () => earn(programme, ...profileIds.map((id) => order(id, { orderId: pick(orders), at: time() }))),
      () => spend(programme, [pick(profileIds)], { wanted: 1 + below(150), at: time() }),
      () => reverse(pick(orders), time()),
      () => expire(),
      () =>
        transact((client) => {
          const profileId = pick(profileIds)
          const holder = { projectId, programmeId: programme.id, profileIds: [profileId], profileId }
          return adjustPoints(client, holder, { points: pick([-1, 1]) * (1 + below(120)), at: time() })
        }),
    ]
    await Promise.all(Array.from({ length: 80 }, () => pick(actions)()))
    expect(await wrongSums()).toEqual([])
  })

  it('cannot be changed, and do not move without a counterpart', async () => {
    const programme = await newProgramme()
    const { profileId } = await newPerson()
    await earn(programme, order(profileId))
    const refused = { code: '23001' }
    for (const text of [
      'UPDATE coupon.point_entries SET points = 1',
      'DELETE FROM coupon.point_entries',
      'UPDATE coupon.point_lots SET points = 1',
      'UPDATE coupon.point_accounts SET balance = 1',
      "UPDATE coupon.point_movements SET kind = 'spent'",
    ])
      await expect(db.pool.query(text)).rejects.toMatchObject(refused)
    await expect(
      db.pool.query(`
        INSERT INTO coupon.point_entries (movement_id, line, programme_id, account_id, account, lot_id, points)
        SELECT movement_id, 99, programme_id, account_id, account, lot_id, 5 FROM coupon.point_entries
        WHERE account = 'person' LIMIT 1`),
    ).rejects.toMatchObject({ code: '23514', constraint: 'point_entries_zero' })
  })
})
