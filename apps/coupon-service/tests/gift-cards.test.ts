import { type Database, isTransient } from '@waymark/database'
import { createMemoryLog, services } from '@waymark/testing'
import fc from 'fast-check'
import { v7 as uuidv7 } from 'uuid'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createExpireCards } from '../src/expire-cards.ts'
import { createGenerateCodes } from '../src/generate-codes.ts'
import { createHolds } from '../src/hold-cart.ts'
import { createQualifyCart } from '../src/qualify-cart.ts'
import { parseQualify } from '../src/qualify-route.ts'
import { createRedeemCoupon } from '../src/redeem-coupon.ts'
import { parseRedeem } from '../src/redeem-route.ts'
import { createValidateCart } from '../src/validate-cart.ts'
import { parseCart } from '../src/validate-route.ts'
import { configsWith, createPool, createProject, openDatabases } from './pools.ts'

const device = { ip: null, userAgent: null }
const cart = {
  currency: 'EUR',
  items: [{ sku: 'shirt', quantity: 2, unitAmount: 1_000 }],
  shippingAmount: 500,
}
const projectConfigs = configsWith()

describe.skipIf(!services)('gift cards', () => {
  let databases: Awaited<ReturnType<typeof openDatabases>>
  let db: Database
  let other: Database
  let projectId: string
  let now: number
  const clock = () => now

  beforeAll(async () => {
    databases = await openDatabases()
    db = databases.db
    other = databases.other
  })
  beforeEach(async () => {
    now = Date.parse('2026-11-28T04:00:00Z')
    projectId = await createProject(db)
  })
  afterAll(async () => {
    await databases?.close()
  })

  const cards = (amount: number, values: object = {}, codes: number | string[] = 1) =>
    createPool(db, projectId, {
      kind: 'balance',
      discount: { type: 'balance' },
      cardAmount: amount,
      cardCurrency: 'EUR',
      codes,
      ...values,
    })
  type Options = { keyKind?: 'sec' | 'pub'; where?: Database; key?: string }
  const redeem = async (body: object, { keyKind = 'sec', where = db, key }: Options = {}) => {
    const redeemCoupon = createRedeemCoupon({ db: where, projectConfigs, clock })
    const idempotency = key === undefined ? undefined : { key, keyKind, requestHash: JSON.stringify(body) }
    const redeemer = { projectId, device, hidesProfile: keyKind === 'pub' }
    const answer = await redeemCoupon(redeemer, parseRedeem(body), idempotency)
    return { status: answer.status, body: JSON.parse(answer.body) }
  }
  const validate = async (body: object, keyKind: 'sec' | 'pub' = 'sec') =>
    (
      await createValidateCart({ db, projectConfigs, clock })(
        projectId,
        parseCart({ ...cart, ...body }),
        null,
        keyKind,
      )
    ).answer
  const hold = async (body: object) => {
    const request = parseCart({ ...cart, hold: 600, ...body })
    const compute = (replacedId: string | null) =>
      createValidateCart({ db, projectConfigs, clock })(projectId, request, replacedId, 'sec')
    return createHolds({ db, clock }).hold(
      { projectId, keyKind: 'sec' },
      { ...request, seconds: 600 },
      compute,
    )
  }
  /** Expects every movement to amount to zero and every balance to be the sum of its entries; resolves to the balances. */
  const balances = async (): Promise<Record<string, number>> => {
    const { rows: unbalanced } = await db.pool.query(
      'SELECT movement_id FROM coupon.card_entries WHERE project_id = $1 GROUP BY movement_id HAVING sum(amount) <> 0',
      [projectId],
    )
    expect(unbalanced).toEqual([])
    const { rows } = await db.pool.query<{ code: string; balance: number; sum: number }>(
      `SELECT c.code, b.balance::float8, sum(e.amount)::float8 AS sum
       FROM coupon.card_balances b JOIN coupon.coupons c ON c.id = b.coupon_id
       JOIN coupon.card_entries e ON e.coupon_id = c.id WHERE b.project_id = $1 GROUP BY c.code, b.balance ORDER BY c.code`,
      [projectId],
    )
    for (const { balance, sum } of rows) expect(balance).toBe(sum)
    return Object.fromEntries(rows.map(({ code, balance }) => [code, balance]))
  }
  const accounts = async (poolId: string) => {
    const { rows } = await db.pool.query<{ account: string; amount: number }>(
      'SELECT account, sum(amount)::float8 AS amount FROM coupon.card_entries WHERE pool_id = $1 GROUP BY 1 ORDER BY 1',
      [poolId],
    )
    return Object.fromEntries(rows.map(({ account, amount }) => [account, amount]))
  }

  it('pay orders in parts until nothing is left, each order once', async () => {
    const { id, codes } = await cards(6_000)
    const [code = ''] = codes
    const first = await redeem({ code, orderId: 'o-1', userId: 'ann', ...cart })
    expect(first).toMatchObject({
      status: 200,
      body: {
        ok: true,
        coupon: { balance: { amount: 3_500, currency: 'EUR' }, status: 'available' },
        payment: { amount: 2_500, balance: 3_500, orderId: 'o-1', currency: 'EUR' },
      },
    })
    // A repeat without a key takes nothing, also when the answer was lost.
    expect((await redeem({ code, orderId: 'o-1', userId: 'ann', ...cart })).body.payment).toEqual(
      first.body.payment,
    )
    const amount = { amount: 2_000, currency: 'EUR' }
    const keyed = await redeem({ code, orderId: 'o-2', ...amount }, { key: 'k' })
    expect(keyed.body.payment).toMatchObject({ amount: 2_000, balance: 1_500 })
    expect(await redeem({ code, orderId: 'o-2', ...amount }, { key: 'k' })).toEqual(keyed)
    expect((await redeem({ codes: [code], orderId: 'o-3', ...cart })).body).toMatchObject({
      discountAmount: 0,
      redemptions: [],
      payments: [{ code: expect.any(String), amount: 1_500, balance: 0 }],
      paymentAmount: 1_500,
      amountDue: 1_000,
    })
    expect(await redeem({ code, orderId: 'o-4', ...amount })).toMatchObject({
      status: 409,
      body: { reason: 'no_balance' },
    })
    expect(await balances()).toEqual({ [code]: 0 })
    expect(await accounts(id)).toEqual({ card: 0, issued: -6_000, spent: 6_000 })
    const { rows } = await db.pool.query<{ topic: string; value: string }>(
      `SELECT topic, value FROM ingest.outbox WHERE value LIKE $1 AND value LIKE '%spent%' ORDER BY id`,
      [`%${projectId}%`],
    )
    expect(rows).toHaveLength(6)
    // The code is money: neither records nor events have it.
    for (const { value } of rows) expect(value).not.toContain(code)
    expect(JSON.parse(rows[0]?.value ?? '')).toMatchObject({ kind: 'spent', amount: 2_500, orderId: 'o-1' })
  })

  it('answer a repeat of a paid order, although another card of it is empty by then', async () => {
    const { codes } = await cards(3_000, {}, ['CARD-A', 'CARD-B'])
    const order = { codes, orderId: 'o-1', ...cart }
    const first = await redeem(order)
    expect(first.body.payments).toMatchObject([{ amount: 2_500 }, { amount: 0 }])
    const other = { code: 'CARD-B', orderId: 'o-2', amount: 3_000, currency: 'EUR' }
    expect((await redeem(other)).body.payment).toMatchObject({ amount: 3_000, balance: 0 })

    expect(await redeem(order)).toMatchObject({
      status: 200,
      body: { payments: [{ amount: 2_500 }, { amount: 0 }], paymentAmount: 2_500, amountDue: 0 },
    })
    // An order with something left to pay needs every card that it names.
    const dearer = { ...order, items: [{ sku: 'shirt', quantity: 3, unitAmount: 1_000 }] }
    expect(await redeem(dearer)).toMatchObject({ status: 409, body: { reason: 'no_balance' } })
    expect(await balances()).toEqual({ CARDA: 500, CARDB: 0 })
  })

  it('pay after discounts and shipping, the one that expires first, beside other codes', async () => {
    const [a = ''] = (await cards(1_000)).codes
    const [b = ''] = (await cards(700, { expiresAt: new Date('2027-01-01') })).codes
    const discount = { type: 'percent', value: 10 }
    await createPool(db, projectId, { kind: 'shared', codes: ['TENTH'], discount, stackable: true })
    const codes = [a, 'TENTH', b]
    const expected = {
      discountAmount: 200,
      payments: [{ amount: 700 }, { amount: 1_000 }],
      paymentAmount: 1_700,
      amountDue: 600,
    }
    expect(await validate({ codes })).toMatchObject({
      valid: true,
      coupons: [
        { valid: true, discountAmount: 0 },
        { valid: true, discountAmount: 200 },
        { valid: true, discountAmount: 0 },
      ],
      ...expected,
    })
    const qualify = createQualifyCart({ db, projectConfigs, clock })
    const { answer } = await qualify(projectId, parseQualify({ codes, ...cart }), null, 'sec')
    const { discountAmount: _discount, ...paid } = expected
    expect(answer).toMatchObject({ best: { discountAmount: 200, codes: [{}] }, ...paid })
    expect((await redeem({ codes, orderId: 'o', ...cart })).body).toMatchObject({
      ...expected,
      redemptions: [{ redemption: { discountAmount: 200 } }],
    })
    expect(await balances()).toEqual({ [a]: 0, [b]: 0 })
    // What is paid already is not paid again, and an earlier discount counts.
    const [c = ''] = (await cards(5_000)).codes
    expect((await redeem({ codes: [c], orderId: 'o', ...cart })).body).toMatchObject({
      paymentAmount: 600,
      amountDue: 0,
    })
  })

  it.each([
    ['JPY', 300],
    ['KWD', 1_250],
  ])('hold minor units of %s, and pay in no other currency', async (cardCurrency, amount) => {
    const [code = ''] = (await cards(5_000, { cardCurrency })).codes
    const order = { code, orderId: 'o', amount }
    expect(await redeem({ ...order, currency: 'EUR' })).toMatchObject({
      status: 409,
      body: { reason: 'currency_mismatch' },
    })
    expect((await redeem({ ...order, currency: cardCurrency })).body.payment).toMatchObject({
      amount,
      balance: 5_000 - amount,
    })
    expect(await validate({ code })).toMatchObject({ coupons: [{ reason: 'currency_mismatch' }] })
  })

  it('show public keys no amount, and take none from them', async () => {
    const [code = ''] = (await cards(5_000)).codes
    expect(await validate({ code }, 'pub')).toMatchObject({
      valid: false,
      coupons: [{ reason: 'secret_key_required' }],
      payments: [],
      paymentAmount: 0,
      amountDue: 2_500,
    })
    const refused = await redeem({ code, orderId: 'o', ...cart }, { keyKind: 'pub' })
    expect(refused).toMatchObject({ status: 409, body: { reason: 'secret_key_required' } })
    expect(JSON.stringify(refused)).not.toContain('5000')
    for (const [body, error] of [
      [{ code, ...cart }, /orderId/],
      [{ code, orderId: 'o' }, /items, or amount/],
    ] as const)
      expect((await redeem(body)).body.error).toMatch(error)
    expect(await balances()).toEqual({ [code]: 5_000 })
  })

  it('are redeemed with the other codes of a request or not at all', async () => {
    const { id, codes } = await createPool(db, projectId, { codes: 1, maxRedemptions: 1 })
    const [card = ''] = (await cards(5_000)).codes
    const [empty = ''] = (await cards(100)).codes
    await redeem({ code: empty, orderId: 'before', ...cart })
    const request = { codes: [...codes, card, empty], orderId: 'o', ...cart }
    expect(await redeem(request)).toMatchObject({ status: 409, body: { reason: 'no_balance' } })
    expect(await db.prisma.couponRedemption.count({ where: { poolId: id } })).toBe(0)
    await redeem({ code: codes[0], orderId: 'other' })
    expect(await redeem({ ...request, codes: [...codes, card] })).toMatchObject({
      status: 409,
      body: { reason: 'already_redeemed' },
    })
    expect(await balances()).toEqual({ [card]: 5_000, [empty]: 0 })
  })

  it('are held for one cart, which pays what was answered', async () => {
    const [code = ''] = (await cards(3_000)).codes
    const held = await hold({ code, userId: 'ann' })
    expect(held).toMatchObject({ paymentAmount: 2_500, amountDue: 0, holdId: expect.any(String) })
    expect(await redeem({ code, orderId: 'o-2', ...cart })).toMatchObject({
      status: 409,
      body: { reason: 'held' },
    })
    const { holdId } = held
    expect((await redeem({ holdId })).body.error).toMatch(/orderId is required/)
    expect((await redeem({ holdId, orderId: 'o-1' })).body).toMatchObject({
      redemptions: [],
      payments: [{ amount: 2_500, balance: 500 }],
      amountDue: 0,
    })
    expect((await redeem({ code, orderId: 'o-2', amount: 100, currency: 'EUR' })).body.payment).toMatchObject(
      {
        amount: 100,
      },
    )
    const again = await hold({ code })
    expect(again.paymentAmount).toBe(400)
    expect(
      await createHolds({ db, clock }).release({ projectId, key: again.holdId ?? '', keyKind: 'sec' }),
    ).toBe(true)
    expect((await redeem({ code, orderId: 'o-3', ...cart })).body.payment).toMatchObject({ amount: 400 })
    expect(await db.prisma.couponPoolCount.findFirst({ where: { pool: { projectId } } })).toMatchObject({
      held: 0,
    })
  })

  it('are issued when they are generated, and expire with their pool at the millisecond', async () => {
    const { id } = await cards(2_500, { status: 'generating', size: 3 }, 0)
    const generate = createGenerateCodes({ db, log: createMemoryLog(), clock })
    while ((await generate()) === 1);
    expect(await accounts(id)).toEqual({ card: 7_500, issued: -7_500 })
    const [code = ''] = Object.keys(await balances())
    await redeem({ code, orderId: 'o', ...cart, shippingAmount: 0 })
    const expire = createExpireCards({ db, clock })
    await db.prisma.couponPool.update({ where: { id }, data: { expiresAt: new Date(now + 1) } })
    expect(await expire()).toBe(0)
    now += 1
    expect(await redeem({ code, orderId: 'o-2', ...cart })).toMatchObject({ body: { reason: 'expired' } })
    expect([await expire(), await expire()]).toEqual([3, 0])
    expect(await accounts(id)).toEqual({ breakage: 5_500, card: 0, issued: -7_500, spent: 2_000 })
    expect(Object.values(await balances())).toEqual([0, 0, 0])
  })

  it('have an append-only ledger, whose movements amount to zero', async () => {
    const { id } = await cards(1_000)
    const { rows } = await db.pool.query<{ coupon_id: string }>(
      'SELECT coupon_id FROM coupon.card_balances WHERE pool_id = $1',
      [id],
    )
    const cardId = rows[0]?.coupon_id
    const movement = async (entries: [account: string, amount: number, currency?: string][]) =>
      db.transaction(async (client) => {
        const movementId = uuidv7()
        await client.query(
          `INSERT INTO coupon.card_movements (id, project_id, kind, created_at) VALUES ($1, $2, 'topped_up', now())`,
          [movementId, projectId],
        )
        if (entries.length === 0) return
        await client.query(
          `INSERT INTO coupon.card_entries (movement_id, line, project_id, pool_id, account, coupon_id, amount, currency)
           SELECT $1, line, $2, $3, account, CASE account WHEN 'card' THEN $4::uuid END, amount, currency
           FROM unnest($5::text[], $6::bigint[], $7::text[]) WITH ORDINALITY AS e (account, amount, currency, line)`,
          [
            movementId,
            projectId,
            id,
            cardId,
            ...[0, 1].map((at) => entries.map((entry) => entry[at])),
            entries.map(([, , currency = 'EUR']) => currency),
          ],
        )
      })
    const refused: [Parameters<typeof movement>[0], string][] = [
      [[], 'has no entries'],
      [[['card', 5]], 'do not amount to zero'],
      [
        [
          ['card', 5],
          ['issued', -4],
        ],
        'do not amount to zero',
      ],
      [
        [
          ['card', 5],
          ['issued', -5, 'USD'],
        ],
        'in one currency',
      ],
      [
        [
          ['card', 5, 'USD'],
          ['issued', -5, 'USD'],
        ],
        'card_balances_pkey',
      ],
      [
        [
          ['card', -1_001],
          ['spent', 1_001],
        ],
        'card_balances_balance',
      ],
      [
        [
          ['card', 100_000_000_000],
          ['issued', -100_000_000_000],
        ],
        'card_balances_balance',
      ],
    ]
    for (const [entries, message] of refused) await expect(movement(entries)).rejects.toThrow(message)
    await movement([
      ['card', -1_000],
      ['spent', 1_000],
    ])
    for (const statement of [
      'UPDATE coupon.card_entries SET amount = 1',
      'DELETE FROM coupon.card_entries',
      'TRUNCATE coupon.card_entries CASCADE',
      'DELETE FROM coupon.card_movements',
      `UPDATE coupon.card_movements SET kind = 'spent'`,
      'UPDATE coupon.card_balances SET balance = 0',
      'DELETE FROM coupon.card_balances',
    ])
      await expect(db.pool.query(statement)).rejects.toThrow('is append-only')
    expect(Object.values(await balances())).toEqual([0])
  })

  it('never pay more than they hold, for 200 orders at once over two connection pools', async () => {
    const { id, codes } = await cards(10_000, {}, 5)
    const all = Array.from({ length: 200 }, async (_, n) => {
      const request = {
        codes: [codes[n % 5], codes[(n + 1) % 5]],
        // Half of the orders are sent twice.
        orderId: `o-${n % 100}`,
        currency: 'EUR',
        items: [{ sku: 'a', quantity: 1, unitAmount: 1_000 }],
      }
      for (;;) {
        try {
          return await redeem(request, { where: n % 2 === 0 ? db : other })
        } catch (error) {
          if (!isTransient(error) && (error as { code?: string }).code !== 'store_unavailable') throw error
        }
      }
    })
    const answers = await Promise.all(all)
    const stored = await balances()
    const { card = 0, spent = 0 } = await accounts(id)
    expect(card + spent).toBe(50_000)
    expect(Object.values(stored).every((balance) => balance >= 0)).toBe(true)
    // The first code of a pair pays unless it is empty, so the second one may refuse an order although it has a balance.
    const { rows } = await db.pool.query<{ paid: number }>(
      `SELECT -sum(e.amount)::float8 AS paid FROM coupon.card_movements m JOIN coupon.card_entries e ON e.movement_id = m.id
       WHERE m.project_id = $1 AND e.account = 'card' AND m.kind = 'spent' GROUP BY m.order_id`,
      [projectId],
    )
    expect(rows.every(({ paid }) => paid <= 1_000)).toBe(true)
    expect(rows.reduce((sum, { paid }) => sum + paid, 0)).toBe(spent)
    const orders = new Set(answers.flatMap(({ status }, n) => (status === 200 ? [n % 100] : [])))
    expect(rows.length).toBe(orders.size)
  })

  it('answer for any cart what they then pay', async () => {
    const price = fc.integer({ min: 0, max: 5_000 })
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.integer({ min: 1, max: 4_000 }), { minLength: 1, maxLength: 3 }),
        price,
        async (held, unitAmount) => {
          const codes = []
          for (const amount of held) codes.push(...(await cards(amount)).codes)
          const request = { codes, currency: 'EUR', items: [{ sku: 'a', quantity: 1, unitAmount }] }
          const { answer } = await createValidateCart({ db, projectConfigs, clock })(
            projectId,
            parseCart(request),
            null,
            'sec',
          )
          const { body } = await redeem({ ...request, orderId: uuidv7() })
          expect(body.paymentAmount).toBe(answer.paymentAmount)
          expect(body.amountDue).toBe(answer.amountDue)
          expect(answer.paymentAmount + answer.amountDue).toBe(unitAmount)
        },
      ),
      { numRuns: 15 },
    )
    await balances()
  })
})
