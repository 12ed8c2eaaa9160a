import { randomUUID } from 'node:crypto'
import { isTransient } from '@waymark/database'
import { findOrderPayments, spendCard } from '@waymark/pipeline'
import { services, untilAvailable } from '@waymark/testing'
import { v7 as uuidv7 } from 'uuid'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { lockCards } from '../src/coupons/gift-card-queries.ts'
import { type Management, startManagement } from './start-management.ts'

describe.skipIf(!services)('gift cards', () => {
  let management: Management
  let user: Awaited<ReturnType<Management['register']>>
  let projectId: string
  beforeAll(async () => {
    management = await startManagement()
    user = await management.register()
    projectId = user.account.projects[0]?.id ?? ''
  })
  afterAll(() => management?.stop())

  const call = async (method: string, path: string, body?: object) => {
    const response = await user.request(method, `/api/projects/${projectId}/${path}`, body)
    const text = await response.text()
    const isJson = response.headers.get('content-type')?.startsWith('application/json')
    return { status: response.status, text, body: isJson ? JSON.parse(text) : undefined }
  }

  const newPool = async (values: object = {}) => {
    const { status, body } = await call('POST', 'coupon-pools', {
      name: 'Gifts',
      kind: 'balance',
      amount: 5_000,
      currency: 'eur',
      ...values,
    })
    expect([status, body.errors]).toEqual([201, undefined])
    return body as { id: string }
  }
  /** A pool with cards of the lines of a table. */
  const newCards = async (lines: string[], values: object = {}) => {
    const { id: poolId } = await newPool(values)
    const response = await fetch(
      `${management.url}/api/projects/${projectId}/coupon-pools/${poolId}/import`,
      {
        method: 'POST',
        headers: { Origin: management.url, Cookie: user.cookie, 'Content-Type': 'text/csv' },
        body: lines.join('\n'),
      },
    )
    const imported = await response.json()
    const { body } = await call('GET', `coupons?poolId=${poolId}&q=CARD`)
    return {
      poolId,
      imported,
      cards: body.data as { id: string; code: string; balance: { amount: number } }[],
    }
  }
  const codes = (count: number) => Array.from({ length: count }, () => `CARD-${randomUUID()}`)
  const newCard = async (values: object = {}) => {
    const { poolId, cards } = await newCards(['code', ...codes(1)], values)
    return { poolId, id: cards[0]?.id ?? '', code: cards[0]?.code ?? '' }
  }
  /** Pays as the coupon service does. */
  const pay = (id: string, orderId: string, wanted: number) =>
    management.db.transaction(async (client) => {
      const card = (await lockCards(client, projectId, [id])).get(id)
      const amount = Math.min(card?.balance ?? 0, wanted)
      if (!card || amount === 0) return 0
      const movement = { id: uuidv7(), projectId, kind: 'spent' as const, orderId, at: new Date() }
      await spendCard(client, movement, card, amount)
      return amount
    })
  /** Repeats a payment that waited for a connection for too long, as clients do. */
  const payInTheEnd: typeof pay = async (...payment) => {
    for (;;) {
      try {
        return await pay(...payment)
      } catch (error) {
        if (!isTransient(error)) throw error
      }
    }
  }
  const ledger = async (poolId: string) => (await call('GET', `coupon-pools/${poolId}/ledger`)).body

  it('have an amount and a currency, and no terms of discounts', async () => {
    expect(await newPool()).toMatchObject({
      kind: 'balance',
      amount: 5_000,
      currency: 'EUR',
      status: 'draft',
    })
    const base = { name: 'Gifts', kind: 'balance', amount: 5_000, currency: 'EUR' }
    const percent = { type: 'percent', value: 10 }
    for (const [values, field] of [
      [{ amount: undefined }, 'amount'],
      [{ currency: undefined }, 'currency'],
      [{ currency: 'DEM' }, 'currency'],
      [{ amount: 100_000_000_001 }, 'amount'],
      [{ amount: 0 }, 'amount'],
      [{ discount: percent }, 'discount'],
      [{ maxRedemptions: 1 }, 'maxRedemptions'],
      [{ stackable: true }, 'stackable'],
      [{ amount: 100_000_000_000, size: 90_072 }, 'size'],
      [{ kind: 'unique', discount: percent }, 'amount'],
      [{ kind: 'unique', amount: undefined, currency: undefined }, 'discount'],
    ] as const) {
      const { status, body } = await call('POST', 'coupon-pools', { ...base, ...values })
      expect([status, body.errors?.[0]?.field]).toEqual([422, field])
    }
    const { id } = await newPool({ amount: 100_000_000_000 })
    expect((await call('POST', `coupon-pools/${id}/assign`, { userId: 'ann' })).status).toBe(422)
    const cart = { currency: 'EUR', items: [{ sku: 'a', quantity: 1, unitAmount: 1 }] }
    expect((await call('POST', `coupon-pools/${id}/preview`, cart)).status).toBe(422)
  })

  it('are imported with their balances and exported with what they hold', async () => {
    const [a, b, c, d] = codes(4)
    const lines = ['code;balance', `${a};12.50`, `${b};`, `${c};0.00`, `${d};1,5`]
    const { poolId, imported, cards } = await newCards(lines)
    expect(imported).toMatchObject({ imported: 3, invalid: 1, errors: [{ line: 5 }] })
    expect(cards.map(({ balance }) => balance.amount).sort((x, y) => x - y)).toEqual([0, 1_250, 5_000])
    const { text } = await call('GET', `coupon-pools/${poolId}/export`)
    expect(text.split('\n')[0]).toMatch(/,balance,currency$/)
    expect(text).toMatch(new RegExp(`${a},available.*,12\\.50,EUR`, 'i'))
    expect(await ledger(poolId)).toMatchObject({ currency: 'EUR', balance: 6_250, issued: 6_250, spent: 0 })
  })

  it('are topped up once per key', async () => {
    const { id, poolId } = await newCard()
    const key = randomUUID()
    const topUp = (body: object) => call('POST', `gift-cards/${id}/top-up`, { amount: 500, key, ...body })
    const same = await Promise.all(Array.from({ length: 5 }, () => topUp({})))
    for (const { status, body } of same) expect([status, body.balance.amount]).toEqual([200, 5_500])
    expect(await topUp({ amount: 501 })).toMatchObject({ status: 409, body: { reason: 'key_reused' } })
    const most = 100_000_000_000 - 5_500
    expect(await topUp({ amount: most + 1, key: 'b' })).toMatchObject({
      status: 409,
      body: { reason: 'balance_limit' },
    })
    expect((await topUp({ amount: most, key: 'c' })).status).toBe(200)
    expect(await ledger(poolId)).toMatchObject({ balance: 100_000_000_000, issued: 100_000_000_000 })
  })

  it('get back at most what an order spent, each refund once', async () => {
    const { id, poolId, code } = await newCard()
    await pay(id, 'order-1', 2_000)
    const refund = (body: object) => call('POST', `gift-cards/${id}/refund`, { orderId: 'order-1', ...body })
    const amounts = await Promise.all(Array.from({ length: 5 }, () => refund({ amount: 1_999 })))
    for (const { status, body } of amounts) expect([status, body.balance.amount]).toEqual([200, 4_999])
    expect((await refund({ amount: 1_998 })).status).toBe(422)
    expect((await refund({ amount: 2_001 })).status).toBe(422)
    expect((await refund({ orderId: 'order-2' })).status).toBe(422)
    expect((await refund({ reason: 'Returned' })).body.balance.amount).toBe(5_000)
    expect(await ledger(poolId)).toMatchObject({ balance: 5_000, spent: 0 })

    const { body } = await call('GET', `gift-cards/movements?couponId=${id}`)
    expect(body.data).toMatchObject([
      { kind: 'refunded', amount: 1, orderId: 'order-1', reason: 'Returned' },
      { kind: 'refunded', amount: 1_999 },
      { kind: 'spent', amount: -2_000, couponId: id },
      { kind: 'issued', amount: 5_000 },
    ])
    const [newest] = body.data
    const page = await call('GET', `gift-cards/movements?orderId=order-1&poolId=${poolId}&limit=2`)
    expect(page.body.data[0]).toEqual(newest)
    const next = await call(
      'GET',
      `gift-cards/movements?orderId=order-1&poolId=${poolId}&limit=2&cursor=${page.body.nextCursor}`,
    )
    expect(next.body).toMatchObject({ data: [{ kind: 'spent' }], nextCursor: null })
    await call('POST', 'coupons/revoke', { ids: [id] })
    await pay(id, 'order-3', 100)
    expect(await refund({ orderId: 'order-3' })).toMatchObject({ status: 409, body: { reason: 'revoked' } })
    expect((await call('POST', `gift-cards/${id}/transfer`, { to: code, key: 'x' })).status).toBe(422)
  })

  it('are transferred within a currency, also from a revoked card and to another pool', async () => {
    const [from, to, yen] = [
      await newCard(),
      await newCard({ amount: 100 }),
      await newCard({ currency: 'JPY' }),
    ]
    const transfer = (body: object) =>
      call('POST', `gift-cards/${from.id}/transfer`, { to: to.code, ...body })
    await call('POST', 'coupons/revoke', { ids: [from.id] })
    expect((await transfer({ to: yen.code, key: randomUUID() })).status).toBe(422)
    expect((await transfer({ to: 'CARD-NONE', key: randomUUID() })).status).toBe(404)
    expect(await transfer({ amount: 5_001, key: randomUUID() })).toMatchObject({
      status: 409,
      body: { reason: 'insufficient_balance' },
    })
    const key = randomUUID()
    for (const _ of [1, 2]) expect((await transfer({ amount: 1_000, key })).body.balance.amount).toBe(4_000)
    expect((await transfer({ key: randomUUID() })).body.balance.amount).toBe(0)
    expect(await ledger(from.poolId)).toMatchObject({ balance: 0, issued: 5_000, transferred: -5_000 })
    expect(await ledger(to.poolId)).toMatchObject({ balance: 5_100, issued: 100, transferred: 5_000 })
    const { body } = await call('GET', `gift-cards/movements?poolId=${to.poolId}`)
    expect(body.data.map(({ kind, amount }: { kind: string; amount: number }) => [kind, amount])).toEqual([
      ['transferred', 4_000],
      ['transferred', 1_000],
      ['issued', 100],
    ])
  })

  it('of another project are not found', async () => {
    const { id } = await newCard()
    const stranger = await management.register()
    const foreign = stranger.account.projects[0]?.id
    for (const [path, body] of [
      ['top-up', { amount: 1, key: 'k' }],
      ['refund', { orderId: 'o' }],
      ['transfer', { to: 'CARD-X', key: 'k' }],
    ] as const) {
      const response = await stranger.request(
        'POST',
        `/api/projects/${foreign}/gift-cards/${id}/${path}`,
        body,
      )
      expect(response.status).toBe(404)
    }
  })

  it('balance after a random history of 200 movements at once', async () => {
    const { poolId, cards } = await newCards(['code', ...codes(4)])
    const seeds = Array.from({ length: 200 }, () => [0, 1, 2, 3, 4].map(() => Math.random()))
    const done = await Promise.all(
      seeds.map(async ([kind = 0, one = 0, two = 0, size = 0, order = 0], n) => {
        const [card, to] = [cards[Math.floor(one * 4)], cards[Math.floor(two * 4)]]
        const amount = 1 + Math.floor(size * 3_000)
        const orderId = `o-${Math.floor(order * 20)}`
        if (!card || !to) throw new Error('there are four')
        if (kind < 0.4) return (await payInTheEnd(card.id, orderId, amount)) >= 0 ? 200 : 0
        const [path, body] =
          kind < 0.6
            ? ['top-up', { amount, key: `h-${n}` }]
            : kind < 0.8
              ? ['refund', { orderId }]
              : ['transfer', { to: to.code, amount, key: `h-${n}` }]
        const ask = () => call('POST', `gift-cards/${card.id}/${path}`, body)
        // 429: waited for the connections of the tenant for too long.
        return (await untilAvailable(ask, [429])).status
      }),
    )
    // 422: nothing to refund, or to itself. 409: too little balance. 503: waited for a lock for too long.
    for (const status of done) expect([200, 409, 422, 503]).toContain(status)
    const { rows } = await management.db.pool.query<{ balance: number; sum: number }>(
      `SELECT b.balance::float8, sum(e.amount)::float8 AS sum FROM coupon.card_balances b
       JOIN coupon.card_entries e ON e.coupon_id = b.coupon_id WHERE b.pool_id = $1 GROUP BY b.coupon_id, b.balance`,
      [poolId],
    )
    for (const { balance, sum } of rows) {
      expect(balance).toBe(sum)
      expect(balance).toBeGreaterThanOrEqual(0)
    }
    const found = await ledger(poolId)
    expect(found.transferred).toBe(0)
    expect(found.balance).toBe(found.issued - found.spent - found.breakage)
    expect(rows.reduce((sum, { balance }) => sum + balance, 0)).toBe(found.balance)
    const payments = await management.db.transaction((client) => findOrderPayments(client, projectId, 'o-0'))
    for (const { spent, refunded } of payments) expect(refunded).toBeLessThanOrEqual(spent)
  })
})
