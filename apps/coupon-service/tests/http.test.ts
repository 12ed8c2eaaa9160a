import type { ApiKeyScope } from '@waymark/contracts/api-key'
import { MAX_CART_BODY_BYTES } from '@waymark/contracts/http/cart'
import { generateApiKey } from '@waymark/domain/key'
import { embeddedPlatform, limitsConfig, type Platform, readConfig, startService } from '@waymark/service-kit'
import { createMemoryLog, createTestDatabase, services } from '@waymark/testing'
import { v7 as uuidv7 } from 'uuid'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createCouponService } from '../src/app.ts'
import { createPool, createProject } from './pools.ts'

const limits = readConfig(limitsConfig, {})

describe.skipIf(!services)('the coupon service over HTTP', () => {
  const disposals: (() => Promise<unknown>)[] = []
  let platform: Platform
  let baseUrl: string
  let projectId: string
  let key: string

  beforeAll(async () => {
    const database = await createTestDatabase()
    disposals.push(() => database.drop())
    const log = createMemoryLog()
    const scope = {
      onStop: (_name: string, dispose: () => Promise<unknown>) => void disposals.push(dispose),
      dispose: async () => {},
    }
    platform = await embeddedPlatform({ databaseUrl: database.url, limits }, { name: 'test', log, scope })
    const http = { port: 0, metricsPort: 0, trustedProxies: 1 }
    const { port } = await startService(createCouponService(platform), http, platform, scope)
    baseUrl = `http://localhost:${port}`
  })
  beforeEach(async () => {
    projectId = await createProject(platform.db)
    key = await createKey(['coupons:redeem', 'coupons:read'])
  })
  afterAll(async () => {
    for (const dispose of disposals.reverse()) await dispose()
  })

  const createKey = async (
    scopes: ApiKeyScope[],
    requestsPerMinute: number | null = null,
    kind: 'pub' | 'sec' = 'sec',
  ): Promise<string> => {
    const { key, keyId, secretHash } = generateApiKey(kind)
    const data = {
      id: uuidv7(),
      keyId,
      projectId,
      name: 'k',
      kind,
      scopes,
      requestsPerMinute,
      secretHash: new Uint8Array(secretHash),
    }
    await platform.db.prisma.apiKey.create({ data })
    return key
  }
  const send = (path: string, init: RequestInit = {}, headers: Record<string, string> = {}) =>
    fetch(`${baseUrl}${path}`, { ...init, headers: { 'X-API-Key': key, ...headers } })
  const redeem = (body: unknown, headers: Record<string, string> = {}) =>
    send(
      '/api/v1/coupons/redeem',
      { method: 'POST', body: typeof body === 'string' ? body : JSON.stringify(body) },
      { 'Content-Type': 'application/json', ...headers },
    )
  const lookUp = (code: string, headers: Record<string, string> = {}) =>
    send(`/api/v1/coupons/${encodeURIComponent(code)}`, {}, headers)

  it('redeems, repeats the response for an idempotency key, and allows browsers to read it', async () => {
    await createPool(platform.db, projectId, { codes: ['HELLO'] })
    const headers = { 'Idempotency-Key': 'order-1', Origin: 'https://shop.example' }
    const first = await redeem({ code: 'hello' }, headers)
    expect(first.status).toBe(200)
    expect(first.headers.get('Idempotent-Replayed')).toBeNull()
    const second = await redeem({ code: 'hello' }, headers)
    expect(second.status).toBe(200)
    expect(second.headers.get('Idempotent-Replayed')).toBe('true')
    expect(second.headers.get('Access-Control-Expose-Headers')).toContain('Idempotent-Replayed')
    expect(second.headers.get('Content-Type')).toBe(first.headers.get('Content-Type'))
    expect(await second.text()).toBe(await first.text())
    expect((await redeem({ code: 'hello', orderId: 'o' }, headers)).status).toBe(422)
    expect((await redeem({ code: 'hello', metadata: {} }, headers)).status).toBe(422)
    const refused = await redeem({ code: 'hello' })
    expect(refused.status).toBe(409)
    expect(await refused.json()).toEqual({ error: expect.any(String), reason: 'already_redeemed' })
  })

  it('does not show a page the answer to a server with the same idempotency key', async () => {
    await createPool(platform.db, projectId, { codes: ['SERVER'] })
    const headers = { 'Idempotency-Key': 'user-1 order-1' }
    const body = { code: 'server', userId: 'user-1' }
    expect((await redeem(body, headers)).status).toBe(200)
    const page = await createKey(['coupons:redeem'], null, 'pub')
    const replayed = await redeem(body, { ...headers, 'X-API-Key': page })
    expect([replayed.status, replayed.headers.get('Idempotent-Replayed')]).toEqual([409, null])
    expect(await replayed.json()).toEqual({ error: expect.any(String), reason: 'already_redeemed' })
    // Keys often name people.
    const stored = await platform.db.prisma.couponIdempotencyKey.findMany({ where: { projectId } })
    expect(stored.filter(({ key }) => key.includes('user-1'))).toEqual([])
  })

  it('recognizes a repeated request with another order of members and other white space', async () => {
    await createPool(platform.db, projectId, { codes: ['ORDERED'] })
    const headers = { 'Idempotency-Key': 'ordered' }
    const first = await redeem('{"code":"ordered","metadata":{"till":7,"shop":{"a":1,"b":[1,2]}}}', headers)
    expect(first.status).toBe(200)
    const again = '{ "metadata": { "shop": { "b": [1, 2], "a": 1 }, "till": 7.0 }, "code": "ordered" }'
    const second = await redeem(again, headers)
    expect([second.status, second.headers.get('Idempotent-Replayed')]).toEqual([200, 'true'])
    expect(await second.text()).toBe(await first.text())
    const other = '{"code":"ordered","metadata":{"till":7,"shop":{"a":1,"b":[2,1]}}}'
    expect((await redeem(other, headers)).status).toBe(422)
  })

  it('answers 401, 403, 429, 415, 413 and 400 in this order', async () => {
    await createPool(platform.db, projectId, { kind: 'shared', codes: ['ALL'] })
    expect((await redeem('not JSON', { 'X-API-Key': 'nonsense' })).status).toBe(401)
    const reader = await createKey(['coupons:read'])
    const forbidden = await redeem('not JSON', { 'X-API-Key': reader })
    expect([forbidden.status, await forbidden.json()]).toEqual([
      403,
      { error: expect.any(String), requiredScope: 'coupons:redeem' },
    ])
    expect((await redeem('x', { 'Content-Type': 'text/plain' })).status).toBe(415)
    const longest = MAX_CART_BODY_BYTES - '{"code":""}'.length
    expect((await redeem({ code: 'x'.repeat(longest) })).status).toBe(400)
    expect((await redeem({ code: 'x'.repeat(longest + 1) })).status).toBe(413)
    for (const body of [
      'not JSON',
      '[]',
      {},
      { code: 7 },
      { code: 'ALL', amount: 0.5 },
      { code: 'ALL', userId: 'NaN' },
    ]) {
      const response = await redeem(body)
      expect(response.status).toBe(400)
      expect(await response.json()).toEqual({ error: expect.any(String) })
    }
    expect((await redeem({ code: 'ALL' }, { 'Idempotency-Key': 'x'.repeat(256) })).status).toBe(400)
    expect((await redeem({ code: 'ALL' }, { 'Idempotency-Key': 'x'.repeat(255) })).status).toBe(200)
    const deep = { code: 'ALL', metadata: { a: { b: { c: { d: { e: {} } } } } } }
    expect((await redeem(deep)).status).toBe(400)
    expect((await redeem({ code: 'ALL', metadata: { a: 'x'.repeat(4_088) } })).status).toBe(200)
    expect((await redeem({ code: 'ALL', metadata: { a: 'x'.repeat(4_089) } })).status).toBe(400)
  })

  it('allows 30 redemptions a minute per address', async () => {
    const statuses: number[] = []
    for (let n = 0; n < 31; n++) statuses.push((await redeem({ code: 'NONE' })).status)
    expect(statuses).toEqual([...Array(30).fill(404), 429])
    const limited = await redeem('not JSON', { 'Content-Type': 'text/plain' })
    expect(limited.status).toBe(429)
    expect(await limited.json()).toEqual({ error: expect.any(String), retryAfter: expect.any(Number) })
    expect(Number(limited.headers.get('Retry-After'))).toBeGreaterThan(0)
    expect((await redeem({ code: 'NONE' }, { 'X-Forwarded-For': '198.51.100.7' })).status).toBe(404)
  })

  it('applies the limit of a server key over all addresses', async () => {
    const own = { 'X-API-Key': await createKey(['coupons:redeem', 'coupons:read'], 32) }
    const statuses: number[] = []
    for (let n = 0; n < 33; n++) statuses.push((await redeem({ code: 'NONE' }, own)).status)
    expect(statuses).toEqual([...Array(32).fill(404), 429])
    const elsewhere = await redeem({ code: 'NONE' }, { ...own, 'X-Forwarded-For': '198.51.100.7' })
    expect(elsewhere.status).toBe(429)
    expect(await elsewhere.json()).toMatchObject({
      error: expect.stringContaining('requestsPerMinute of the API key'),
    })
    const lookUps: number[] = []
    for (let n = 0; n < 33; n++) lookUps.push((await lookUp(`MISS${n}`, own)).status)
    expect(lookUps).toEqual([...Array(32).fill(404), 429])
  })

  it('holds carts, with the scope to redeem and within its limit, and renews and releases them', async () => {
    const { codes } = await createPool(platform.db, projectId, { codes: 1 })
    const [code = ''] = codes
    const cart = { code, currency: 'EUR', items: [{ sku: 'a', quantity: 1, unitAmount: 100 }], hold: 60 }
    const post = (path: string, body: object, headers: Record<string, string> = {}) =>
      send(
        `/api/v1/coupons/${path}`,
        { method: 'POST', body: JSON.stringify(body) },
        { 'Content-Type': 'application/json', ...headers },
      )
    const reader = { 'X-API-Key': await createKey(['coupons:read']) }
    const forbidden = await post('validate', cart, reader)
    expect([forbidden.status, await forbidden.json()]).toEqual([
      403,
      { error: expect.stringContaining('coupons:redeem'), requiredScope: 'coupons:redeem' },
    ])
    const held = await post('validate', cart)
    expect(held.status).toBe(200)
    const { holdId } = (await held.json()) as { holdId: string }
    expect(await (await lookUp(code)).json()).toMatchObject({ status: 'held' })
    expect(await (await post(`holds/${holdId}/renew`, { hold: 90 })).json()).toEqual({
      holdId,
      holdExpiresAt: expect.any(String),
    })
    expect((await post(`holds/${holdId}/renew`, { hold: 1_801 })).status).toBe(400)
    const release = (id: string) => send(`/api/v1/coupons/holds/${id}`, { method: 'DELETE' })
    expect((await release(holdId)).status).toBe(204)
    for (const id of [holdId, 'nonsense']) expect((await release(id)).status).toBe(404)
    expect((await post(`holds/${holdId}/renew`, { hold: 90 })).status).toBe(404)
    // An id of the client may be any UUID, of no version of the standard, too.
    const own = 'AAAAAAAA-1111-1111-1111-111111111111'
    expect(await (await post('validate', { ...cart, holdId: own })).json()).toMatchObject({
      holdId: own.toLowerCase(),
    })
    expect((await release(own)).status).toBe(204)
    const limited = { 'X-API-Key': await createKey(['coupons:redeem'], 2) }
    const statuses = []
    for (let n = 0; n < 3; n++) statuses.push((await post('validate', { ...cart, holdId }, limited)).status)
    expect(statuses).toEqual([200, 200, 429])
  })

  it('finds a coupon in any notation, and answers foreign and missing ones the same', async () => {
    const now = Date.now()
    const expiresAt = new Date(now + 60_000)
    await createPool(platform.db, projectId, { codes: ['HELLO'], prefix: 'HE', expiresAt })
    const found = await lookUp(' he-llo ')
    expect(found.status).toBe(200)
    expect(await found.json()).toEqual({
      code: 'HE-LLO',
      status: 'available',
      pool: { id: expect.any(String), name: 'Summer', kind: 'unique' },
      discount: { type: 'percent', value: 10 },
      startsAt: null,
      expiresAt: expiresAt.toISOString(),
    })
    await redeem({ code: 'hello' })
    expect(await (await lookUp('HELLO')).json()).toMatchObject({
      status: 'redeemed',
      redeemedAt: expect.any(String),
    })
    projectId = await createProject(platform.db)
    const foreign = await lookUp('HELLO', { 'X-API-Key': await createKey(['coupons:read']) })
    const missing = await lookUp('no such thing')
    expect([foreign.status, await foreign.text()]).toEqual([404, await missing.text()])
    expect((await lookUp('HELLO', { 'X-API-Key': await createKey(['coupons:redeem']) })).status).toBe(403)
  })

  describe('a cart', () => {
    const cart = { currency: 'eur', items: [{ sku: 'shirt', quantity: 2, unitAmount: 1995 }] }
    const validate = (body: unknown, headers: Record<string, string> = {}) =>
      send(
        '/api/v1/coupons/validate',
        { method: 'POST', body: JSON.stringify(body) },
        { 'Content-Type': 'application/json', ...headers },
      )

    it('is validated with either scope', async () => {
      await createPool(platform.db, projectId, { codes: ['HELLO'] })
      for (const scope of ['coupons:read', 'coupons:redeem'] as const) {
        const answer = await validate({ ...cart, code: 'hello' }, { 'X-API-Key': await createKey([scope]) })
        expect([answer.status, await answer.json()]).toEqual([
          200,
          {
            valid: true,
            discountAmount: 399,
            shippingDiscountAmount: 0,
            items: [{ sku: 'shirt', discountAmount: 399 }],
            coupons: [{ code: 'HELLO', valid: true, discountAmount: 399 }],
            payments: [],
            paymentAmount: 0,
            amountDue: 3_591,
          },
        ])
      }
      const refused = await validate({ ...cart, code: 'hello' }, { 'X-API-Key': await createKey(['decide']) })
      expect([refused.status, await refused.json()]).toEqual([
        403,
        { error: expect.any(String), requiredScope: 'coupons:read' },
      ])
    })

    it('gets 400 for what it cannot be, with the field and what is allowed', async () => {
      for (const [body, message] of [
        [{ ...cart }, /code and codes/],
        [{ ...cart, code: 'A', items: [] }, /^items /],
        [{ ...cart, code: 'A', currency: 'DEM' }, /^currency must be an ISO 4217/],
        [
          { ...cart, code: 'A', items: [{ sku: 'a', quantity: 1, unitAmount: 1.5 }] },
          /^items\.0\.unitAmount .*integer/,
        ],
        [{ ...cart, code: 'A', orderId: 'o' }, /^orderId is not a known field; allowed: code/],
      ] as const) {
        const answer = await validate(body)
        expect([answer.status, await answer.json()]).toEqual([400, { error: expect.stringMatching(message) }])
      }
    })

    describe('is qualified for promotions', () => {
      const qualify = (body: unknown, headers: Record<string, string> = {}) =>
        send(
          '/api/v1/promotions/qualify',
          { method: 'POST', body: JSON.stringify(body) },
          { 'Content-Type': 'application/json', ...headers },
        )

      it('with either scope, and for a page by its visitor only', async () => {
        const { id } = await createPool(platform.db, projectId, { kind: 'automatic' })
        for (const scope of ['coupons:read', 'coupons:redeem'] as const)
          for (const kind of ['pub', 'sec'] as const) {
            const headers = { 'X-API-Key': await createKey([scope], null, kind) }
            const answer = await qualify({ ...cart, visitorId: 'v' }, headers)
            expect([answer.status, await answer.json()]).toMatchObject([
              200,
              { best: { discountAmount: 399, promotions: [{ id }] } },
            ])
            const byUser = await qualify({ ...cart, userId: 'ann' }, headers)
            expect(byUser.status).toBe(kind === 'pub' ? 400 : 200)
            if (kind === 'pub')
              expect(await byUser.json()).toEqual({ error: expect.stringMatching(/^userId is not allowed/) })
          }
        const refused = await qualify(cart, { 'X-API-Key': await createKey(['decide']) })
        expect([refused.status, await refused.json()]).toEqual([
          403,
          { error: expect.any(String), requiredScope: 'coupons:read' },
        ])
      })

      it('not with unknown codes, after too many of them', async () => {
        for (let n = 0; n < 3; n++) {
          const codes = Array.from({ length: 10 }, (_, miss) => `MISS${n}${miss}`)
          expect((await qualify({ ...cart, codes })).status).toBe(200)
        }
        expect((await qualify({ ...cart, codes: ['MORE'] })).status).toBe(429)
        expect((await qualify(cart)).status).toBe(200)
      })
    })

    it('with unknown codes counts as look-ups of missing coupons', async () => {
      await createPool(platform.db, projectId, { codes: ['HELLO'] })
      for (let n = 0; n < 3; n++) {
        const codes = Array.from({ length: 10 }, (_, miss) => `MISS${n}${miss}`)
        expect((await validate({ ...cart, codes })).status).toBe(200)
      }
      expect((await validate({ ...cart, code: 'HELLO' })).status).toBe(429)
      expect((await lookUp('HELLO')).status).toBe(429)
      expect((await redeem({ code: 'HELLO', ...cart })).status).toBe(200)
    })
  })

  it('limits look-ups after 30 misses a minute', async () => {
    await createPool(platform.db, projectId, { codes: ['HELLO'] })
    for (let n = 0; n < 60; n++) expect((await lookUp('HELLO')).status).toBe(200)
    for (let n = 0; n < 30; n++) expect((await lookUp(`MISS${n}`)).status).toBe(404)
    const limited = await lookUp('HELLO')
    expect(limited.status).toBe(429)
    expect(await limited.json()).toEqual({ error: expect.any(String), retryAfter: expect.any(Number) })
    expect((await lookUp('MISS')).status).toBe(429)
    expect((await lookUp('HELLO', { 'X-Forwarded-For': '198.51.100.8' })).status).toBe(200)
  })
})
