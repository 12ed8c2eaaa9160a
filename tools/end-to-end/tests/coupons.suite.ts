import { randomUUID } from 'node:crypto'
import { type AppName, type Constellation, eventually, untilAvailable } from '@waymark/testing'
import { afterAll, beforeAll, expect, it } from 'vitest'

type Json = { [field: string]: unknown }
type Reply = { status: number; body: Json; text: string; headers: Headers }
type Pool = {
  id: string
  status: string
  generated: number
  size: number
  redeemed: number
  code: string | null
}
type Coupon = { id: string; code: string; status: string }

const discount = { type: 'percent', value: 20 }

/** Coupons from the pool to the conversion, as a shop uses them, for the deployment that `start` begins. */
export const describeCoupons = (start: () => Promise<Constellation>, app: AppName): void => {
  let waymark: Constellation

  beforeAll(async () => {
    waymark = await start()
  })
  afterAll(() => waymark?.stop())

  const call = async (
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = { 'Content-Type': 'application/json' },
  ): Promise<Reply> => {
    const response = await waymark.request(path, {
      method,
      headers,
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    })
    const text = await response.text()
    const isJson = response.headers.get('Content-Type')?.includes('json')
    return { status: response.status, headers: response.headers, text, body: isJson ? JSON.parse(text) : {} }
  }
  const manage = (method: string, resource: string, body?: unknown, headers?: Record<string, string>) =>
    call(method, `/api/projects/${waymark.projectId}/${resource}`, body, headers)
  // Of hundreds of requests at once, those that wait for 4 s are answered 429.
  const redeem = (body: Json, headers: Record<string, string> = {}) =>
    untilAvailable(
      () => call('POST', '/api/v1/coupons/redeem', body, { 'Content-Type': 'application/json', ...headers }),
      [429],
    )
  const lookUp = async (code: string) => (await call('GET', `/api/v1/coupons/${code}`)).body
  const getPool = async (id: string) => (await manage('GET', `coupon-pools/${id}`)).body as Pool
  const couponsOf = async (query: string) => (await manage('GET', `coupons?${query}`)).body.data as Coupon[]
  const create = async (values: Json): Promise<Pool> => {
    const { status, body } = await manage('POST', 'coupon-pools', { name: 'Summer', discount, ...values })
    expect({ status, body }).toMatchObject({ status: 201, body: { discount } })
    return body as Pool
  }
  it('replays the discounts that carts got, and why others got none', async () => {
    const eventName = `ordered-${randomUUID()}`
    const pool = await create({
      kind: 'shared',
      code: `BACK${Date.now()}`,
      rules: { minimumAmount: 1_000 },
      budgetAmount: { amount: 1_000, currency: 'EUR' },
      perProfileLimit: 1,
    })
    const [one, two, three, four] = Array.from({ length: 4 }, () => `u-${randomUUID()}`)
    const carts = [
      [one, 2, 1_000],
      [one, 2, 1_000],
      [two, 1, 500],
      [three, 30, 1_000],
      [four, 3, 1_000],
    ].map(([userId, quantity, unitAmount]) => ({
      userId,
      cart: { currency: 'EUR', items: [{ sku: 'shirt', quantity, unitAmount }] },
    }))
    const redeemed: Json[] = []
    for (const { userId, cart } of carts) {
      const { status, body } = await redeem({ code: pool.code, userId, ...cart })
      if (status === 200) redeemed.push(body.redemption as Json)
    }
    for (const { userId, cart } of carts) {
      const event = { eventName, userId, eventId: randomUUID(), properties: { ...cart, total: 1 } }
      expect((await call('POST', '/api/v1/t', event)).status).toBe(202)
    }
    const backtest = async (more: Json = {}): Promise<Json> => {
      const reply = await manage('POST', `coupon-pools/${pool.id}/backtest`, { days: 1, eventName, ...more })
      expect([reply.status, reply.body.errors]).toEqual([200, undefined])
      return reply.body
    }
    const replayed = await eventually('all events are stored', async () => {
      const body = await backtest()
      return body.events === carts.length && body
    })
    const amount = redeemed.reduce((sum, { discountAmount }) => sum + Number(discountAmount), 0)
    expect(replayed).toMatchObject({
      unreadable: 0,
      granted: redeemed.length,
      people: redeemed.length,
      discounts: [{ currency: 'EUR', discountAmount: amount }],
    })
    expect((replayed.sample as string[]).sort()).toEqual(
      redeemed.map(({ profileId }) => String(profileId)).sort(),
    )
    expect(new Map((replayed.refusals as Json[]).map(({ reason, carts }) => [reason, carts]))).toEqual(
      new Map([
        ['profile_limit', 1],
        ['minimum_not_reached', 1],
        ['budget_exhausted', 1],
      ]),
    )
    const generous = { budgetAmount: null, perProfileLimit: null, rules: null }
    expect(await backtest(generous)).toMatchObject({ granted: carts.length, people: 4, refusals: [] })
    expect(await getPool(pool.id)).toMatchObject({
      redeemed: redeemed.length,
      budgetAmount: { amount: 1_000 },
    })
  })

  it('hides profile ids from public keys, but shows them to the project', async () => {
    const { code } = await create({ kind: 'shared', code: `PUB${Date.now()}` })
    const key = await manage('POST', 'api-keys', { name: 'page', kind: 'pub', scopes: ['coupons:redeem'] })
    const userId = `u-${randomUUID()}`
    const inPage = await redeem({ code, userId }, { 'X-API-Key': String(key.body.key) })
    expect(inPage).toMatchObject({ status: 200, body: { redemption: { userId, profileId: null } } })
    const onServer = await redeem({ code, userId })
    expect(onServer.body.redemption).toMatchObject({ userId, profileId: expect.any(String) })
    const { poolId } = inPage.body.redemption as Json
    const { data } = (await manage('GET', `redemptions?poolId=${poolId}`)).body as { data: Json[] }
    const profileIds = new Set(data.map(({ profileId }) => profileId))
    expect([...profileIds]).toEqual([(onServer.body.redemption as Json).profileId])
  })

  const ready = (id: string) =>
    eventually('all codes are generated', async () => {
      const pool = await getPool(id)
      return pool.generated === pool.size && pool.status === 'ready' && pool
    })

  it('generates a pool, redeems a coupon, and counts the conversion once', async () => {
    const selector = await manage('POST', 'metering-selectors', {
      eventName: 'coupon_redeemed',
      filter: { '>': [{ var: 'properties.amount' }, 0] },
      amountProperty: 'amount',
      currencyProperty: 'currency',
    })
    const made = await create({ kind: 'unique', size: 25, prefix: 'sun' })
    expect(made).toMatchObject({ status: 'generating', generated: 0, size: 25, prefix: 'SUN', length: 16 })
    await ready(made.id)
    const coupons = await couponsOf(`poolId=${made.id}&limit=25`)
    expect(new Set(coupons.map(({ code }) => code)).size).toBe(25)

    // A separate event shows whether all processes apply the selector.
    await eventually('the selector is known', async () => {
      const probe = { eventName: 'coupon_redeemed', visitorId: 'v', properties: { amount: 1 } }
      return (await call('POST', '/api/v1/t?sync=1', probe)).body.queued === 1
    })
    const known = await eventually('the coupon service knows it, too', async () => {
      const [spare] = await couponsOf(`poolId=${made.id}&status=available&limit=1`)
      const key = randomUUID()
      const order = {
        code: spare?.code,
        userId: 'ann',
        orderId: 'o-1',
        amount: 4990,
        currency: 'EUR',
        eventId: `order-${key}`,
      }
      const first = await redeem(order, { 'Idempotency-Key': key })
      const repeat = await redeem(order, { 'Idempotency-Key': key })
      expect([first.status, repeat.status]).toEqual([200, 200])
      expect(repeat.headers.get('Idempotent-Replayed')).toBe('true')
      expect(repeat.text).toBe(first.text)
      const { eventId } = first.body.redemption as { eventId: string }
      await eventually('it is an event', async () => {
        const { data } = (await manage('GET', `events?eventId=${eventId}`)).body as { data: Json[] }
        return data.length === 1
      })
      const { data } = (await manage('GET', `conversions?eventId=${eventId}`)).body as { data: Json[] }
      return data.length > 0 && { data, code: spare?.code ?? '', redemption: first.body.redemption as Json }
    })
    expect(known.data).toEqual([
      expect.objectContaining({ selectorId: selector.body.id, amount: 4990, currency: 'EUR', userId: 'ann' }),
    ])
    expect(known.data[0]?.profileId).toBe(known.redemption.profileId)
    expect(await lookUp(known.code.toLowerCase().replaceAll('-', ''))).toMatchObject({ status: 'redeemed' })
    expect((await redeem({ code: known.code, userId: 'ann' })).body.reason).toBe('already_redeemed')
    expect((await getPool(made.id)).redeemed).toBeGreaterThan(0)
  })

  it("keeps the order's event id for the order, with its conversion", async () => {
    const eventName = `ordered-${randomUUID()}`
    const metering = { eventName, amountProperty: 'total', currencyProperty: 'currency' }
    expect((await manage('POST', 'metering-selectors', metering)).status).toBe(201)
    const made = await create({ kind: 'shared', code: `order-${randomUUID()}` })
    const eventId = randomUUID()
    const { status, body } = await redeem({ code: made.code, userId: 'ann', eventId })
    expect([status, body.redemption]).toEqual([200, expect.objectContaining({ relatedEventId: eventId })])
    const redemptionEventId = (body.redemption as Json).eventId
    const find = async (resource: string, id: unknown) =>
      ((await manage('GET', `${resource}?eventId=${id}`)).body.data as Json[])[0]
    await eventually('the redemption is an event', () => find('events', redemptionEventId))

    const order = { eventName, eventId, userId: 'ann', properties: { total: 4990, currency: 'EUR' } }
    await eventually('the order is a conversion', async () => {
      const probe = { ...order, eventId: randomUUID() }
      return (await call('POST', '/api/v1/t?sync=1', probe)).body.queued === 1
    })
    expect((await call('POST', '/api/v1/t?sync=1', order)).body).toMatchObject({ accepted: 1, failed: 0 })
    expect(await find('events', eventId)).toMatchObject({ eventName })
    expect(await find('conversions', eventId)).toMatchObject({ eventName, amount: 4990, currency: 'EUR' })
  })

  it('redeems once for 200 concurrent requests', async () => {
    const pool = await create({ kind: 'unique' })
    await manage('POST', `coupon-pools/${pool.id}/import`, 'GOLDEN-TICKET', { 'Content-Type': 'text/csv' })
    const replies = await Promise.all(
      Array.from({ length: 200 }, (_, n) => redeem({ code: 'golden-ticket', userId: `u${n}` })),
    )
    expect(replies.filter(({ status }) => status === 200)).toHaveLength(1)
    expect(replies.filter(({ body }) => body.reason === 'already_redeemed')).toHaveLength(199)
    const [coupon] = await couponsOf('q=golden')
    const history = (await manage('GET', `coupons/${coupon?.id}`)).body
    expect(history).toMatchObject({ status: 'redeemed', code: 'GOLDEN-TICKET' })
    expect(history.redemptions).toHaveLength(1)
    expect(history.attempts).toHaveLength(100)
  })

  it('enforces a limit exactly despite a kill, and answers repeats with the outcome', async () => {
    const limit = 60
    const pool = await create({ kind: 'shared', code: `power-${randomUUID()}`, maxRedemptions: limit })
    const run = randomUUID()
    const ask = (n: number) =>
      redeem({ code: pool.code, userId: `u${n}` }, { 'Idempotency-Key': `${run}-${n}` })
    const answers = new Map<number, Reply>()
    // Each asks until the process is killed, so that some always wait for an answer then.
    let next = 0
    const asking = Promise.allSettled(
      Array.from({ length: 10 }, async () => {
        for (;;) {
          const n = next++
          answers.set(n, await ask(n))
        }
      }),
    )
    await eventually('some are answered', () => answers.size >= 20)
    await waymark.kill(app)
    await asking
    expect(answers.size).toBeLessThan(next)
    await waymark.restart(app)

    const clients = Math.max(next, 2 * limit)
    const repeated = await Promise.all(Array.from({ length: clients }, (_, n) => ask(n)))
    for (const [n, { status, text }] of answers)
      expect({ n, status: repeated[n]?.status, text: repeated[n]?.text }).toEqual({ n, status, text })
    expect(repeated.filter(({ status }) => status === 200)).toHaveLength(limit)
    expect(repeated.filter(({ status }) => status === 409)).toHaveLength(clients - limit)
    expect((await getPool(pool.id)).redeemed).toBe(limit)
    const { data } = (await manage('GET', `redemptions?poolId=${pool.id}&limit=500`)).body as { data: Json[] }
    expect(data).toHaveLength(limit)
  })

  it('grants for a cart what it validates, keeps the budget, and returns a part of it', async () => {
    const eventName = `bought-${randomUUID()}`
    const metering = { eventName, amountProperty: 'total', currencyProperty: 'currency' }
    expect((await manage('POST', 'metering-selectors', metering)).status).toBe(201)
    const terms = {
      discount: { type: 'percent', value: 12.5, currency: 'EUR', maxAmount: 1000 },
      rules: { minimumAmount: 3000, includedCategories: ['clothes'], firstOrderOnly: true },
      budgetAmount: { amount: 600, currency: 'EUR' },
      stackable: true,
    }
    const created = await manage('POST', 'coupon-pools', {
      name: 'Cart',
      kind: 'shared',
      code: `cart-${randomUUID()}`,
      ...terms,
    })
    expect(created).toMatchObject({ status: 201, body: { ...terms, budgetUsedAmount: 0 } })
    const { id, code } = created.body
    const cart = {
      currency: 'EUR',
      items: [
        { sku: 'shirt', category: 'clothes', quantity: 2, unitAmount: 1995 },
        { sku: 'mug', category: 'home', quantity: 1, unitAmount: 799 },
      ],
    }
    const validate = async (body: Json) => (await call('POST', '/api/v1/coupons/validate', body)).body
    const person = { userId: `cart-${randomUUID()}` }
    const items = [
      { sku: 'shirt', discountAmount: 499 },
      { sku: 'mug', discountAmount: 0 },
    ]
    expect(await validate({ code, ...cart, ...person })).toMatchObject({
      valid: true,
      discountAmount: 499,
      items,
    })
    const preview = await manage('POST', `coupon-pools/${id}/preview`, { ...cart, ...person })
    expect(preview).toMatchObject({ status: 200, body: { valid: true, discountAmount: 499, items } })
    const made = await redeem({ code, ...cart, ...person, orderId: 'o-cart' })
    expect(made).toMatchObject({ status: 200, body: { redemption: { discountAmount: 499, items } } })
    const next = await redeem({ code, ...cart, userId: `next-${randomUUID()}` })
    expect(next).toMatchObject({ status: 409, body: { reason: 'budget_exhausted' } })

    const redemption = `redemptions/${(made.body.redemption as Json).id}/rollback`
    for (let n = 0; n < 2; n++) {
      const returned = await manage('POST', redemption, { items: [{ sku: 'shirt', quantity: 1 }] })
      // Half of 499 is 249.5, which rounds to the even 250.
      expect(returned).toMatchObject({ status: 200, body: { rolledBackAmount: 250, rolledBackAt: null } })
      expect((await manage('GET', `coupon-pools/${id}`)).body).toMatchObject({
        budgetUsedAmount: 249,
        redeemed: 1,
      })
    }
    expect(await manage('POST', redemption, { amount: 1, items: [] })).toMatchObject({ status: 422 })

    const order = { eventName, ...person, properties: { total: 4990, currency: 'EUR' } }
    await eventually('the order is a conversion, so it is no first order', async () => {
      await call('POST', '/api/v1/t?sync=1', { ...order, eventId: randomUUID() })
      const { coupons } = await validate({ code, ...cart, ...person })
      return (coupons as Json[])[0]?.reason === 'not_first_order'
    })
  })

  it('grants several codes what it validates, and counts revenue net of discounts in analytics', async () => {
    const orderName = `net-order-${randomUUID()}`
    const order = await manage('POST', 'metering-selectors', {
      eventName: orderName,
      amountProperty: 'total',
      currencyProperty: 'currency',
    })
    const discounts = await manage('POST', 'metering-selectors', {
      eventName: 'coupon_redeemed',
      amountProperty: 'discountAmount',
      currencyProperty: 'currency',
      filter: { '>': [{ var: 'properties.discountAmount' }, 0] },
    })
    expect([order.status, discounts.status]).toEqual([201, 201])
    const share = { kind: 'shared', stackable: true }
    const five = { type: 'amount', value: 500, currency: 'EUR' }
    const codes: unknown[] = []
    for (const discount of [five, { type: 'percent', value: 10 }]) {
      const pool = { ...share, name: 'Net', code: `net-${randomUUID()}`, discount }
      const { status, body } = await manage('POST', 'coupon-pools', pool)
      expect(status).toBe(201)
      codes.push(body.code)
    }
    const items = [{ sku: 'shirt', quantity: 2, unitAmount: 1995 }]
    const cart = { codes, currency: 'EUR', items }
    const { coupons, ...validated } = (await call('POST', '/api/v1/coupons/validate', cart)).body
    // 10 % of 3990, then 500.
    expect(validated).toMatchObject({ valid: true, discountAmount: 899 })

    type Redeemed = { redemption: { discountAmount: number; eventId: string } }
    const conversionOf = async (eventId: unknown) =>
      ((await manage('GET', `conversions?eventId=${eventId}`)).body.data as Json[])[0]
    const campaign = await eventually('the coupon service applies the selector', async () => {
      const campaign = randomUUID()
      const body = { ...cart, userId: 'ann', orderId: `o-${campaign}`, metadata: { campaign } }
      const redeemed = await redeem(body)
      expect(redeemed).toMatchObject({
        status: 200,
        body: { ok: true, discountAmount: 899, items: validated.items },
      })
      const made = redeemed.body.redemptions as Redeemed[]
      expect(made.map(({ redemption }) => redemption.discountAmount)).toEqual(
        (coupons as Json[]).map(({ discountAmount }) => discountAmount),
      )
      const last = made.at(-1)?.redemption.eventId
      await eventually('it is an event', async () => {
        const { data } = (await manage('GET', `events?eventId=${last}`)).body as { data: Json[] }
        return data.length === 1
      })
      return (await conversionOf(last)) && campaign
    })
    const event = (total: number) => ({
      eventName: orderName,
      userId: 'ann',
      eventId: randomUUID(),
      properties: { total, currency: 'EUR' },
    })
    await eventually('all processes apply the selector of orders', async () => {
      return (await call('POST', '/api/v1/t?sync=1', event(0))).body.queued === 1
    })
    expect([200, 202]).toContain((await call('POST', '/api/v1/t?sync=1', event(3990))).status)
    const revenueOf = async (eventName: string, filters: Json[] = []) => {
      const day = 24 * 3_600_000
      const [from, to] = [new Date(Date.now() - day), new Date(Date.now() + day)]
      const series = [{ eventName, metric: 'revenue', filters }]
      const { status, body } = await manage('POST', 'analytics/trends', { from, to, interval: 'day', series })
      expect(status).toBe(200)
      return (body.series as Json[]).map(({ currency, total }) => [currency, total])
    }
    const ofCampaign = [{ property: 'properties.metadata.campaign', op: 'eq', value: campaign }]
    await eventually('revenue and discounts are in analytics', async () => {
      const [gross, granted] = [await revenueOf(orderName), await revenueOf('coupon_redeemed', ofCampaign)]
      return JSON.stringify([gross, granted]) === JSON.stringify([[['EUR', 3990]], [['EUR', 899]]])
    })
  })

  it('rolls a redemption back once, after which the coupon can be redeemed again', async () => {
    const pool = await create({ kind: 'shared', code: 'once-each', perProfileLimit: 1 })
    expect(pool).toMatchObject({ status: 'ready', code: 'ONCE-EACH' })
    const { body } = await redeem({ code: 'ONCE-EACH', visitorId: 'v1', orderId: 'o-9' })
    expect((await redeem({ code: 'ONCE-EACH', visitorId: 'v1' })).body.reason).toBe('already_redeemed')
    const { id } = body.redemption as { id: string }
    const replies = await Promise.all(
      Array.from({ length: 8 }, () => manage('POST', `redemptions/${id}/rollback`, { reason: 'returned' })),
    )
    for (const reply of replies)
      expect(reply).toMatchObject({
        status: 200,
        body: { id, rollbackReason: 'returned', code: 'ONCE-EACH' },
      })
    expect((await getPool(pool.id)).redeemed).toBe(0)
    expect((await redeem({ code: 'ONCE-EACH', visitorId: 'v1' })).status).toBe(200)
    expect((await redeem({ code: 'ONCE-EACH', visitorId: 'v1' })).status).toBe(409)
    const { data } = (await manage('GET', 'redemptions?orderId=o-9')).body as { data: Json[] }
    expect(data).toMatchObject([{ id, rolledBackAt: expect.any(String) }])
  })

  it('imports, exports, assigns and revokes', async () => {
    const pool = await create({ kind: 'unique' })
    expect(pool.status).toBe('draft')
    const csv = 'code\nALPHA-1\nBETA-1\nGAMMA-1\nalpha 1\n\u0000\n'
    const send = (type: string) =>
      manage('POST', `coupon-pools/${pool.id}/import`, csv, { 'Content-Type': type })
    expect((await send('application/json')).status).toBe(415)
    expect((await send('text/csv; charset=utf-8')).body).toMatchObject({
      imported: 3,
      duplicates: 1,
      invalid: 1,
    })

    const assign = (visitorId: string) => manage('POST', `coupon-pools/${pool.id}/assign`, { visitorId })
    const [mine, again] = [await assign('me'), await assign('me')]
    expect(mine).toMatchObject({ status: 200, body: { code: 'ALPHA-1', status: 'assigned' } })
    expect(again.body.id).toBe(mine.body.id)
    expect((await redeem({ code: 'alpha1', visitorId: 'somebody' })).body.reason).toBe('already_redeemed')
    expect((await redeem({ code: 'alpha1', visitorId: 'me' })).status).toBe(200)

    const [beta] = await couponsOf(`poolId=${pool.id}&q=beta`)
    expect((await manage('PATCH', `coupons/${beta?.id}`, { status: 'revoked' })).body.status).toBe('revoked')
    expect((await redeem({ code: 'BETA1' })).body.reason).toBe('revoked')
    expect((await manage('PATCH', `coupons/${mine.body.id}`, { status: 'revoked' })).status).toBe(422)
    expect((await manage('POST', 'coupons/revoke', { poolId: pool.id })).body).toEqual({ revoked: 1 })
    expect(await assign('late')).toMatchObject({ status: 409, body: { reason: 'exhausted' } })

    const exported = await manage('GET', `coupon-pools/${pool.id}/export`)
    expect(exported.headers.get('Content-Type')).toContain('text/csv')
    const lines = exported.text.trim().split('\n')
    expect(lines.slice(1).map((line) => line.split(',').slice(0, 2).join(' '))).toEqual([
      'ALPHA-1 redeemed',
      'BETA-1 revoked',
      'GAMMA-1 revoked',
    ])
  })

  it('tops up a ready pool, and archives it', async () => {
    const pool = await create({ kind: 'unique', size: 3 })
    await ready(pool.id)
    const topped = await manage('POST', `coupon-pools/${pool.id}/top-up`, { count: 2 })
    expect(topped.body).toMatchObject({ status: 'ready', size: 5 })
    expect((await ready(pool.id)).generated).toBe(5)
    const [coupon] = await couponsOf(`poolId=${pool.id}&limit=1`)
    const changed = await manage('PATCH', `coupon-pools/${pool.id}`, { name: 'Autumn', maxRedemptions: 2 })
    expect(changed.body).toMatchObject({ name: 'Autumn', maxRedemptions: 2, discount })
    expect((await manage('DELETE', `coupon-pools/${pool.id}`)).status).toBe(204)
    expect((await redeem({ code: coupon?.code })).body.reason).toBe('expired')
    expect(await lookUp(coupon?.code ?? '')).toMatchObject({ status: 'expired' })
    expect((await manage('POST', `coupon-pools/${pool.id}/top-up`, { count: 2 })).status).toBe(422)
  })

  it('normalizes currencies to upper case', async () => {
    const price = { type: 'amount', value: 500, currency: 'eur' }
    const created = await manage('POST', 'coupon-pools', { name: 'p', kind: 'unique', discount: price })
    expect(created.body).toMatchObject({ discount: { ...price, currency: 'EUR' } })
    const change = { discount: { ...price, currency: 'usd' } }
    const changed = await manage('PATCH', `coupon-pools/${created.body.id}`, change)
    expect(changed.body).toMatchObject({ discount: { ...price, currency: 'USD' } })
  })

  it.each([
    ['codes that could be guessed', { length: 8, size: 10 }, 'length'],
    ['an odd alphabet', { alphabet: 'ABC', size: 1 }, 'alphabet'],
    [
      'a start after its end',
      { startsAt: '2026-01-02T00:00:00Z', expiresAt: '2026-01-01T00:00:00Z' },
      'expiresAt',
    ],
    ['110 percent', { discount: { type: 'percent', value: 110 } }, 'discount.value'],
    ['an amount of no currency', { discount: { type: 'amount', value: 500 } }, 'discount.currency'],
    ['a value of no currency', { discount: { type: 'fixed', value: 500 } }, 'discount.currency'],
    ['an unknown currency', { discount: { type: 'amount', value: 1, currency: 'dem' } }, 'discount.currency'],
    ['a code of its own', { code: 'MINE' }, 'code'],
    ['no codes at all', { size: 0 }, 'size'],
  ])('refuses a pool with %s', async (_what, values, field) => {
    const body = { name: 'p', kind: 'unique', discount, ...values }
    const refused = await manage('POST', 'coupon-pools', body)
    expect(refused.status).toBe(422)
    expect(refused.body).toMatchObject({ errors: [{ field }] })
    if (field === 'length') expect(JSON.stringify(refused.body)).toContain('34.3 random bits')
  })

  it('answers missing resources and those of other projects the same', async () => {
    const id = '01900000-0000-7000-8000-00000000dead'
    for (const [method, path, body] of [
      ['GET', `coupon-pools/${id}`],
      ['PATCH', `coupon-pools/${id}`, {}],
      ['DELETE', `coupon-pools/${id}`],
      ['POST', `coupon-pools/${id}/top-up`, { count: 1 }],
      ['POST', `coupon-pools/${id}/assign`, { userId: 'u' }],
      ['GET', `coupon-pools/${id}/export`],
      ['GET', `coupons/${id}`],
      ['PATCH', `coupons/${id}`, { status: 'revoked' }],
      ['POST', `redemptions/${id}/rollback`, {}],
    ] as const)
      expect(await manage(method, path, body)).toMatchObject({ status: 404, body: { error: 'Not found' } })
    expect((await couponsOf(`poolId=${id}`)).length).toBe(0)
  })
}
