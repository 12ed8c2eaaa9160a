import type { IngestRecord } from '@waymark/contracts/records/ingest-record'
import { type Database, isTransient } from '@waymark/database'
import { compileSelector } from '@waymark/domain/conversion'
import { applyIdentify } from '@waymark/pipeline'
import { eventually, services } from '@waymark/testing'
import type { QueryConfig } from 'pg'
import { v7 as uuidv7 } from 'uuid'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createForgetAnswers } from '../src/idempotency-queries.ts'
import { createRedeemCoupon } from '../src/redeem-coupon.ts'
import { parseRedeem } from '../src/redeem-route.ts'
import { configsWith, createPool, createProject, openDatabases } from './pools.ts'

const HOUR_MS = 60 * 60_000
const device = { ip: null, userAgent: null }
/** The code of PostgreSQL for a lock that was waited for too long. */
const LOCK_TIMEOUT = '55P03'

describe.skipIf(!services)('redeeming', () => {
  let databases: Awaited<ReturnType<typeof openDatabases>>
  let db: Database
  let other: Database
  let projectId: string
  let now: number

  const selector = compileSelector({
    id: uuidv7(),
    eventName: 'coupon_redeemed',
    filter: { '>': [{ var: 'properties.amount' }, 0] },
    amountProperty: 'amount',
    currencyProperty: 'currency',
    quantityProperty: null,
  })
  const projectConfigs = configsWith((name) => (name === 'coupon_redeemed' ? [selector] : []))

  beforeAll(async () => {
    databases = await openDatabases()
    db = databases.db
    other = databases.other
  })
  beforeEach(async () => {
    now = Date.parse('2026-11-21T04:00:00Z')
    await db.pool.query('DELETE FROM ingest.outbox')
    projectId = await createProject(db)
  })
  afterAll(async () => {
    await databases?.close()
  })

  const redeemIn = async (
    where: typeof db,
    body: Record<string, unknown>,
    key?: string,
    requestHash = JSON.stringify(body),
  ) => {
    const redeem = createRedeemCoupon({ db: where, projectConfigs, clock: () => now })
    const idempotency = key === undefined ? undefined : { key, keyKind: 'sec' as const, requestHash }
    const { body: text, ...rest } = await redeem({ projectId, device }, parseRedeem(body), idempotency)
    return { ...rest, text, body: JSON.parse(text) }
  }
  const redeem = (body: Record<string, unknown>, key?: string) => redeemIn(db, body, key)
  /** Repeats requests that timed out without effect, as clients do. */
  const redeemInTheEnd: typeof redeemIn = async (...request) => {
    for (;;) {
      try {
        return await redeemIn(...request)
      } catch (error) {
        if (!isTransient(error)) throw error
      }
    }
  }
  /** One concurrent request for each body, half of them through another connection pool. */
  const redeemAll = (bodies: readonly Record<string, unknown>[], key?: string) =>
    Promise.all(bodies.map((body, index) => redeemInTheEnd(index % 2 === 0 ? db : other, body, key)))
  const statuses = (answers: readonly { status: number }[]) => {
    const counts = Map.groupBy(answers, ({ status }) => status)
    return Object.fromEntries([...counts].map(([status, of]) => [status, of.length]))
  }
  const count = async (table: string, where = 'true'): Promise<number> => {
    const { rows } = await db.pool.query<{ n: number }>(
      `SELECT count(*)::int AS n FROM coupon.${table} WHERE project_id = $1 AND ${where}`,
      [projectId],
    )
    return rows[0]?.n ?? -1
  }
  const redeemedOf = async (poolId: string) =>
    (await db.prisma.couponPoolCount.findUniqueOrThrow({ where: { poolId } })).redeemed
  const outbox = async (topic: string) => {
    const { rows } = await db.pool.query<{ value: string }>(
      'SELECT value FROM ingest.outbox WHERE topic = $1 ORDER BY id',
      [topic],
    )
    return rows.map(({ value }) => JSON.parse(value))
  }

  it('redeems the coupon, counts it, and publishes it with its conversion', async () => {
    const pool = await createPool(db, projectId, { codes: ['SUMMER2026'] })
    const { status, body } = await redeem({
      code: 'summer-2026',
      userId: 'ann',
      orderId: 'o-1',
      amount: 4990,
      currency: 'eur',
      metadata: { till: 7 },
    })
    expect(status).toBe(200)
    expect(body).toMatchObject({
      ok: true,
      coupon: { code: 'SUMM-ER20-26', status: 'redeemed', pool: { id: pool.id, kind: 'unique' } },
      redemption: { userId: 'ann', orderId: 'o-1', amount: 4990, currency: 'EUR', metadata: { till: 7 } },
    })
    const { id, profileId, eventId } = body.redemption
    expect(eventId).toBe(`wm:redemption:${id}`)
    expect(await redeemedOf(pool.id)).toBe(1)
    expect(await outbox('coupons.redeemed.v1')).toEqual([
      expect.objectContaining({ kind: 'redeemed', redemptionId: id, profileId, code: 'SUMM-ER20-26' }),
    ])
    const [record] = (await outbox('ingest.records.v1')) as IngestRecord[]
    expect(record).toMatchObject({
      projectId,
      event: { eventId, eventName: 'coupon_redeemed', userId: 'ann', properties: { poolId: pool.id } },
      conversions: [{ selectorId: selector.selector.id, amount: 4990, currency: 'EUR' }],
    })
  })

  it("never uses a client's id for its event, even if two redemptions name the same", async () => {
    await createPool(db, projectId, { kind: 'shared', codes: ['ALL'] })
    const answers = [
      await redeem({ code: 'ALL', eventId: 'order-1' }, 'key'),
      await redeem({ code: 'ALL', eventId: 'order-1' }),
    ]
    const made = answers.map(({ body }) => body.redemption)
    for (const { id, eventId, relatedEventId } of made)
      expect({ eventId, relatedEventId }).toEqual({
        eventId: `wm:redemption:${id}`,
        relatedEventId: 'order-1',
      })
    const records = (await outbox('ingest.records.v1')) as IngestRecord[]
    expect(records.map(({ event }) => [event.eventId, event.properties.relatedEventId])).toEqual(
      made.map(({ eventId }) => [eventId, 'order-1']),
    )
    expect((await outbox('coupons.redeemed.v1')).map(({ eventId }) => eventId)).toEqual(
      made.map(({ eventId }) => eventId),
    )
    const replayed = await redeem({ code: 'ALL', eventId: 'order-1' }, 'key')
    expect(replayed).toMatchObject({ replayed: true, text: answers[0]?.text })
    expect(await outbox('ingest.records.v1')).toHaveLength(2)
  })

  it('redeems once for 200 concurrent requests over two connection pools', async () => {
    const pool = await createPool(db, projectId, { codes: ['ONLYONE'] })
    const answers = await redeemAll(
      Array.from({ length: 200 }, (_, n) => ({ code: 'only-one', userId: `u${n}` })),
    )
    expect(statuses(answers)).toEqual({ 200: 1, 409: 199 })
    expect(new Set(answers.map(({ body }) => body.reason))).toEqual(new Set([undefined, 'already_redeemed']))
    expect(await redeemedOf(pool.id)).toBe(1)
    expect(await count('redemptions')).toBe(1)
    expect(await count('attempts', "reason = 'already_redeemed'")).toBe(199)
    expect(await outbox('coupons.redeemed.v1')).toHaveLength(1)
    expect(await outbox('ingest.records.v1')).toHaveLength(1)
  })

  it('enforces the limit of a person under concurrency, without counting refusals', async () => {
    const pool = await createPool(db, projectId, { codes: 40, perProfileLimit: 3 })
    const answers = await redeemAll(pool.codes.map((code) => ({ code, userId: 'ann' })))
    expect(statuses(answers)).toEqual({ 200: 3, 409: 37 })
    expect(await redeemedOf(pool.id)).toBe(3)
    expect(await count('coupons', "status = 'redeemed'")).toBe(3)
    const left = pool.codes.find((_code, index) => answers[index]?.status === 409)
    expect((await redeem({ code: left, userId: 'bea' })).status).toBe(200)
  })

  it('enforces the limit of a pool under concurrency, for unique and shared codes', async () => {
    const unique = await createPool(db, projectId, { codes: 40, maxRedemptions: 7 })
    const shared = await createPool(db, projectId, { kind: 'shared', codes: ['WELCOME'], maxRedemptions: 7 })
    expect(statuses(await redeemAll(unique.codes.map((code) => ({ code }))))).toEqual({ 200: 7, 409: 33 })
    const many = Array.from({ length: 60 }, (_, n) => ({ code: 'Welcome', visitorId: `v${n}` }))
    expect(statuses(await redeemAll(many))).toEqual({ 200: 7, 409: 53 })
    expect([await redeemedOf(unique.id), await redeemedOf(shared.id)]).toEqual([7, 7])
    expect((await redeem({ code: 'WELCOME' })).body.reason).toBe('already_redeemed')
  })

  it('answers with the first reason in the documented order', async () => {
    const before = new Date(now - 1)
    const after = new Date(now + 1)
    const reasonOf = async (values: Parameters<typeof createPool>[2], status = 'available') => {
      const { codes } = await createPool(db, projectId, { codes: 1, ...values })
      await db.pool.query('UPDATE coupon.coupons SET status = $2 WHERE project_id = $1 AND code = $3', [
        projectId,
        status,
        codes[0],
      ])
      const { body } = await redeem({ code: codes[0] })
      return body.reason
    }
    for (const status of ['draft', 'generating', 'failed'])
      expect(await reasonOf({ status, expiresAt: before }, 'revoked')).toBe('pool_not_ready')
    expect(await reasonOf({ startsAt: after, expiresAt: before }, 'revoked')).toBe('pool_not_ready')
    expect(await reasonOf({ expiresAt: before }, 'revoked')).toBe('revoked')
    expect(await reasonOf({ expiresAt: new Date(now) }, 'redeemed')).toBe('expired')
    expect(await reasonOf({ status: 'archived' }, 'redeemed')).toBe('expired')
    expect(await reasonOf({}, 'redeemed')).toBe('already_redeemed')
    expect(await reasonOf({ startsAt: new Date(now), expiresAt: after })).toBeUndefined()
    expect(await count('attempts')).toBe(8)
    expect((await redeem({ code: 'no-such-code' })).status).toBe(404)
    expect((await redeem({ code: '☃' })).status).toBe(404)
  })

  it('separates projects', async () => {
    await createPool(db, projectId, { codes: ['MINE'] })
    projectId = await createProject(db)
    expect(await redeem({ code: 'MINE' })).toMatchObject({ status: 404, body: { error: 'Not found' } })
  })

  it('requires a person if the pool has a limit per person', async () => {
    await createPool(db, projectId, { codes: ['PERPERSON'], perProfileLimit: 1 })
    expect(await redeem({ code: 'PERPERSON' })).toMatchObject({ status: 400 })
    expect((await redeem({ code: 'PERPERSON', visitorId: 'v' })).status).toBe(200)
  })

  it('counts a visitor’s redemptions for the user after the identify call', async () => {
    const pool = await createPool(db, projectId, { codes: 4, perProfileLimit: 2 })
    const [a, b, c, d] = pool.codes
    expect((await redeem({ code: a, visitorId: 'laptop' })).status).toBe(200)
    expect((await redeem({ code: b, userId: 'ann' })).status).toBe(200)
    await applyIdentify(db, {
      v: 1,
      kind: 'identify',
      id: uuidv7(),
      projectId,
      receivedAt: new Date().toISOString(),
      visitorId: 'laptop',
      userId: 'ann',
      traits: {},
    })
    expect((await redeem({ code: c, userId: 'ann' })).body.reason).toBe('already_redeemed')
    expect((await redeem({ code: d, visitorId: 'laptop' })).body.reason).toBe('already_redeemed')
    expect((await redeem({ code: c, userId: 'bea' })).status).toBe(200)
  })

  describe('with an idempotency key', () => {
    it('repeats status and body, including refusals', async () => {
      await createPool(db, projectId, { codes: ['ONCE'] })
      const first = await redeem({ code: 'ONCE' }, 'k1')
      const refused = await redeem({ code: 'ONCE' }, 'k2')
      expect([first, refused].map(({ status, replayed }) => [status, replayed])).toEqual([
        [200, false],
        [409, false],
      ])
      for (const [key, answered, code] of [
        ['k1', first, 'ONCE'],
        ['k2', refused, 'ONCE'],
      ] as const) {
        const { status, text, replayed } = await redeem({ code }, key)
        expect({ status, text, replayed }).toEqual({
          status: answered.status,
          text: answered.text,
          replayed: true,
        })
      }
      expect(await count('attempts')).toBe(1)
    })

    it('repeats an answer that the version before stored', async () => {
      await createPool(db, projectId, { codes: ['BEFORE'] })
      const first = await redeem({ code: 'BEFORE' }, 'key')
      await db.pool.query("UPDATE coupon.idempotency_keys SET key = 'key' WHERE project_id = $1", [projectId])
      expect(await redeem({ code: 'BEFORE' }, 'key')).toMatchObject({
        status: 200,
        replayed: true,
        text: first.text,
      })
      expect(await count('idempotency_keys')).toBe(1)
    })

    it('does not store a 404: a repeat redeems a coupon that exists by then', async () => {
      expect(await redeem({ code: 'LATER' }, 'key')).toMatchObject({ status: 404, replayed: false })
      expect(await redeem({ code: 'LATER' }, 'key')).toMatchObject({ status: 404, replayed: false })
      expect(await count('idempotency_keys')).toBe(0)
      await createPool(db, projectId, { codes: ['LATER'] })
      expect(await redeem({ code: 'LATER' }, 'key')).toMatchObject({ status: 200, replayed: false })
      expect(await redeem({ code: 'LATER' }, 'key')).toMatchObject({ status: 200, replayed: true })
    })

    it('does not store `pool_not_ready`: a repeat redeems a coupon whose pool is ready by then', async () => {
      const pool = await createPool(db, projectId, { codes: ['SOON'], status: 'generating' })
      const early = await redeem({ code: 'SOON' }, 'key')
      expect(early).toMatchObject({ status: 409, replayed: false, body: { reason: 'pool_not_ready' } })
      await db.prisma.couponPool.update({ where: { id: pool.id }, data: { status: 'ready' } })
      expect(await redeem({ code: 'SOON' }, 'key')).toMatchObject({ status: 200, replayed: false })
    })

    it('does not store a 400, because the corrected request differs', async () => {
      await createPool(db, projectId, { codes: ['PERSONAL'], perProfileLimit: 1 })
      expect((await redeem({ code: 'PERSONAL' }, 'key')).status).toBe(400)
      expect((await redeem({ code: 'PERSONAL', userId: 'ann' }, 'key')).status).toBe(200)
    })

    it('redeems once for equal requests that arrive while the pool becomes ready', async () => {
      const pool = await createPool(db, projectId, { codes: ['RACE'], status: 'generating' })
      const ask = (n: number) =>
        redeemAll(
          Array.from({ length: n }, () => ({ code: 'RACE', userId: 'u' })),
          'key',
        )
      const early = await ask(20)
      expect(statuses(early)).toEqual({ 409: 20 })
      expect(early.some(({ replayed }) => replayed)).toBe(false)
      const [racing] = await Promise.all([
        ask(30),
        db.prisma.couponPool.update({ where: { id: pool.id }, data: { status: 'ready' } }),
      ])
      const late = await ask(10)
      expect(statuses(late)).toEqual({ 200: 10 })
      const redeemed = [...racing, ...late].filter(({ status }) => status === 200)
      expect(new Set(redeemed.map(({ text }) => text)).size).toBe(1)
      expect(redeemed.filter(({ replayed }) => !replayed)).toHaveLength(1)
      expect(racing.filter(({ status }) => status !== 200).every(({ replayed }) => !replayed)).toBe(true)
      expect(await redeemedOf(pool.id)).toBe(1)
    })

    it('redeems a coupon whose pool becomes ready just after the claim failed', async () => {
      const pool = await createPool(db, projectId, { codes: ['JUST'], status: 'generating' })
      const readyAfterClaim: typeof db = {
        ...db,
        transaction: (run, options) =>
          db.transaction((client, commit) => {
            const query = async (statement: QueryConfig) => {
              const result = await client.query(statement)
              if (statement.name === 'claim-coupon')
                await db.prisma.couponPool.update({ where: { id: pool.id }, data: { status: 'ready' } })
              return result
            }
            return run(Object.assign(Object.create(client), { query }), commit)
          }, options),
      }
      const answers = [
        await redeemIn(readyAfterClaim, { code: 'JUST' }, 'key'),
        await redeem({ code: 'JUST' }, 'key'),
      ]
      expect(statuses(answers)).toEqual({ 200: 2 })
      expect(await count('attempts')).toBe(0)
    })

    it('refuses the key for another body, and separates projects', async () => {
      await createPool(db, projectId, { codes: ['FIRST', 'OTHER'] })
      await redeem({ code: 'FIRST' }, 'key')
      await expect(redeem({ code: 'OTHER' }, 'key')).rejects.toMatchObject({ code: 'unprocessable' })
      projectId = await createProject(db)
      expect((await redeem({ code: 'OTHER' }, 'key')).status).toBe(404)
    })

    it('redeems once for 40 equal concurrent requests with the same response', async () => {
      const pool = await createPool(db, projectId, { kind: 'shared', codes: ['SHARED'] })
      const answers = await redeemAll(
        Array.from({ length: 40 }, () => ({ code: 'SHARED', userId: 'u' })),
        'key',
      )
      expect(statuses(answers)).toEqual({ 200: 40 })
      expect(new Set(answers.map(({ text }) => text)).size).toBe(1)
      expect(answers.filter(({ replayed }) => !replayed)).toHaveLength(1)
      expect(await redeemedOf(pool.id)).toBe(1)
    })

    it('stores no response of a request that timed out, and redeems on the repeat', async () => {
      const { codes } = await createPool(db, projectId, { codes: 1 })
      const holder = await other.pool.connect()
      await holder.query('BEGIN')
      await holder.query('SELECT 1 FROM coupon.coupons WHERE code = $1 FOR UPDATE', codes)
      await expect(redeem({ code: codes[0] }, 'key')).rejects.toMatchObject({ code: LOCK_TIMEOUT })
      await holder.query('ROLLBACK')
      holder.release()
      expect(await redeem({ code: codes[0] }, 'key')).toMatchObject({ status: 200, replayed: false })
    })

    it('deletes responses after two days, not after one', async () => {
      await createPool(db, projectId, { kind: 'shared', codes: ['SHARED'] })
      await redeem({ code: 'SHARED' }, 'key')
      const forget = createForgetAnswers(db, () => now)
      now += 24 * HOUR_MS
      await forget()
      expect((await redeem({ code: 'SHARED' }, 'key')).replayed).toBe(true)
      now += 24 * HOUR_MS + 1
      await forget()
      expect((await redeem({ code: 'SHARED' }, 'key')).replayed).toBe(false)
    })
  })

  it('changes nothing when the process crashes in the middle', async () => {
    const pool = await createPool(db, projectId, { codes: ['FRAGILE'] })
    const holder = await other.pool.connect()
    await holder.query('BEGIN')
    await holder.query('SELECT 1 FROM coupon.pool_counts WHERE pool_id = $1 FOR UPDATE', [pool.id])
    const dying = async (): Promise<never> => {
      for (;;)
        await redeem({ code: 'FRAGILE' }).catch((error) => {
          // A busy machine may take longer to find it than it waits for the lock.
          if (error.code !== LOCK_TIMEOUT) throw error
        })
    }
    const died = expect(dying()).rejects.toThrow()
    // Everything except the pool's count is done by then.
    await eventually('it waits for the last lock', async () => {
      const { rowCount } = await other.pool.query(
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
         WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%coupon.pool_counts%'`,
      )
      return rowCount === 1
    })
    await died
    await holder.query('ROLLBACK')
    holder.release()
    expect(await count('redemptions')).toBe(0)
    expect(await outbox('coupons.redeemed.v1')).toEqual([])
    expect((await redeem({ code: 'FRAGILE' })).status).toBe(200)
  })
})
