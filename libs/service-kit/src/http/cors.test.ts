import { once } from 'node:events'
import { request } from 'node:http'
import { trackEvents } from '@waymark/contracts/http/ingestion-operations'
import type { ApiKey } from '@waymark/project-config'
import { anyAnswers, createMemoryLog } from '@waymark/testing/unit'
import { Router } from 'express'
import { Registry } from 'prom-client'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createHttpApp } from './create-http-app.ts'
import { type HttpServer, listen } from './http-server.ts'
import { keyRoute } from './key-route.ts'
import { mountRoutes, type Route } from './router.ts'

const SHOP = 'https://shop.example'
const BODY_LIMIT = 100

const open: ApiKey = {
  id: 'k',
  tenantId: 'tenant-1',
  projectId: 'p',
  kind: 'pub',
  scopes: ['events:write'],
  validationMode: null,
  requestsPerMinute: null,
  environment: 'production',
  allowedOrigins: [],
}
const keys: Record<string, ApiKey> = {
  open,
  'for the shop': { ...open, allowedOrigins: ['https://www.shop.example', SHOP] },
  'without scope': { ...open, scopes: ['decide'], allowedOrigins: [SHOP] },
  'for shops and apps': { ...open, allowedOrigins: ['https://*.shop.example', 'capacitor://localhost'] },
  'of a server': { ...open, kind: 'sec', allowedOrigins: [SHOP] },
}

const guarded = (path: string): Route =>
  keyRoute(
    { ...trackEvents, path, answers: anyAnswers },
    { apiKeys: { authenticate: async (text) => keys[text] }, maxBodyBytes: BODY_LIMIT },
    async ({ body }) => {
      if (body.value === 'bug') throw new TypeError('a bug')
      return { status: 202, body: { ok: true } }
    },
  )

let server: HttpServer
let base: string
beforeAll(async () => {
  const routes = [guarded('/api/v1/t'), guarded('/internal/t')]
  const app = createHttpApp({
    router: mountRoutes(Router(), routes),
    trustedProxies: 0,
    isReady: () => true,
    log: createMemoryLog(),
    metrics: new Registry(),
  })
  server = await listen(app, 0)
  base = `http://127.0.0.1:${server.port}`
})
afterAll(() => server.stop())

const call = (
  headers: Record<string, string>,
  { method = 'POST', path = '/api/v1/t', body = '{}' } = {},
): Promise<Response> =>
  fetch(base + path, {
    method,
    headers: { 'Content-Type': 'application/json', ...headers },
    ...(method === 'POST' && { body }),
  })

/** The preflight of a browser before a page may send JSON with a key. */
const preflight = (headers: Record<string, string> = {}, path = '/api/v1/t') =>
  call(
    {
      Origin: SHOP,
      'Access-Control-Request-Method': 'POST',
      'Access-Control-Request-Headers': 'content-type,x-api-key',
      ...headers,
    },
    { method: 'OPTIONS', path },
  )

/** Whether a browser would expose the response to a page of `origin`. */
const readableFrom = ({ headers }: Response, origin: string): boolean =>
  headers.get('Access-Control-Allow-Origin') === origin &&
  headers.get('Cross-Origin-Resource-Policy') === 'cross-origin' &&
  (headers.get('Vary') ?? '').includes('Origin')

const listOf = (response: Response, name: string) =>
  (response.headers.get(name) ?? '').toLowerCase().split(', ')

describe('a preflight', () => {
  it.each([SHOP, 'http://localhost:3000', 'null'])('from %s is answered', async (origin) => {
    const response = await preflight({ Origin: origin })
    expect(response.status).toBe(204)
    expect(await response.text()).toBe('')
    expect(readableFrom(response, origin)).toBe(true)
    expect(listOf(response, 'Access-Control-Allow-Methods')).toEqual(
      expect.arrayContaining(['post', 'put', 'get']),
    )
    expect(listOf(response, 'Access-Control-Allow-Headers')).toEqual(
      expect.arrayContaining([
        'x-api-key',
        'content-type',
        'x-service-sync',
        'idempotency-key',
        'traceparent',
        'baggage',
        'sentry-trace',
      ]),
    )
    expect(Number(response.headers.get('Access-Control-Max-Age'))).toBeGreaterThan(0)
    expect(response.headers.get('Access-Control-Allow-Credentials')).toBe('true')
  })

  it.each([
    '/v1/batch',
    '/beacon/v1/batch',
    '/import',
    '/sourceConfig/',
    '/e/',
    '/flags/',
    '/array/k/config',
  ])('at %s allows the headers of SDKs', async (path) => {
    const response = await preflight({ Origin: SHOP }, path)
    expect(response.status).toBe(204)
    expect(listOf(response, 'Access-Control-Allow-Headers')).toEqual(
      expect.arrayContaining(['anonymousid', 'sentat', 'rsa-retry-attempt', 'x-retry-count']),
    )
  })

  it.each([
    ['/api/v1/t', 'true'],
    ['/api/v1/T/', 'true'],
    ['/api/v1/identify', 'true'],
    ['/v1/batch', 'true'],
    ['/beacon/v1/batch', 'true'],
    ['/track', 'true'],
    ['/i/v0/e/', 'true'],
    ['/flags/', null],
    ['/api/v1/decide', null],
    ['/api/v1/coupons/redeem', null],
    ['/api/v1/tenants', null],
    ['/ofrep/v1/evaluate/flags', null],
  ])('at %s allows credentials: %s', async (path, allowed) => {
    expect((await preflight({}, path)).headers.get('Access-Control-Allow-Credentials')).toBe(allowed)
  })

  it('is answered for paths that do not exist', async () => {
    expect((await preflight({}, '/api/v1/nowhere')).status).toBe(204)
    const response = await call({ Origin: SHOP }, { path: '/api/v1/nowhere' })
    expect(response.status).toBe(404)
    expect(readableFrom(response, SHOP)).toBe(true)
  })

  it.each(['/internal/t', '/healthz', '/api/v10/t', '/api/projects/p'])('of %s is none', async (path) => {
    const response = await preflight({}, path)
    expect([404, 405]).toContain(response.status)
    expect(response.headers.get('Access-Control-Allow-Origin')).toBeNull()
    expect(response.headers.get('Access-Control-Allow-Credentials')).toBeNull()
    expect(response.headers.get('Cross-Origin-Resource-Policy')).toBe('same-origin')
  })

  it('is not every OPTIONS request', async () => {
    const response = await call({ Origin: SHOP }, { method: 'OPTIONS' })
    expect(response.status).toBe(405)
    expect(response.headers.get('Allow')).toBe('POST')
  })
})

describe('a request from a page', () => {
  it.each([
    ['open', SHOP],
    ['open', 'null'],
    ['for the shop', SHOP],
    ['for the shop', 'https://www.shop.example'],
    ['for shops and apps', 'https://berlin.shop.example'],
    ['for shops and apps', 'capacitor://localhost'],
  ])('with the key %j from %s passes', async (key, origin) => {
    const response = await call({ 'X-API-Key': key, Origin: origin })
    expect(response.status).toBe(202)
    expect(readableFrom(response, origin)).toBe(true)
    expect(listOf(response, 'Access-Control-Expose-Headers')).toEqual(
      expect.arrayContaining([
        'x-request-id',
        'retry-after',
        'ratelimit-limit',
        'ratelimit-remaining',
        'ratelimit-reset',
      ]),
    )
  })

  it.each([
    'https://evil.example',
    'http://shop.example',
    'https://shop.example:8443',
    'https://shop.example.evil.example',
    'https://a.shop.example',
    'null',
    '',
  ])('of %j with a key for the shop is refused, and the page cannot read why', async (origin) => {
    const response = await call({ 'X-API-Key': 'for the shop', Origin: origin })
    expect(response.status).toBe(403)
    expect(await response.json()).toEqual({ error: expect.any(String) })
    expect(response.headers.get('Access-Control-Allow-Origin')).toBeNull()
    expect(response.headers.get('Vary')).toContain('Origin')
  })

  it('is refused before its body is read', async () => {
    const headers = {
      'X-API-Key': 'for the shop',
      Origin: 'https://evil.example',
      'Content-Type': 'application/json',
      'Content-Length': 50,
    }
    const withheld = request(`${base}/api/v1/t`, { method: 'POST', headers })
    withheld.flushHeaders()
    const [response] = await once(withheld, 'response')
    expect(response.statusCode).toBe(403)
    withheld.destroy()
  })

  it.each([
    ['an unknown key', 401, { 'X-API-Key': 'unknown' }, '{}'],
    ['a key without the scope', 403, { 'X-API-Key': 'without scope' }, '{}'],
    ['a body too large', 413, { 'X-API-Key': 'for the shop' }, `"${'x'.repeat(BODY_LIMIT)}"`],
    ['another type', 415, { 'X-API-Key': 'for the shop', 'Content-Type': 'text/plain' }, '{}'],
    ['what is not JSON', 400, { 'X-API-Key': 'for the shop' }, '{'],
    ['our own failure', 500, { 'X-API-Key': 'for the shop' }, '"bug"'],
  ])('can read that it has %s: %i', async (_what, status, headers, body) => {
    const response = await call({ Origin: SHOP, ...headers }, { body })
    expect(response.status).toBe(status)
    expect(readableFrom(response, SHOP)).toBe(true)
  })

  it('passes with a sec key for any list of origins', async () => {
    expect((await call({ 'X-API-Key': 'of a server', Origin: 'https://evil.example' })).status).toBe(202)
  })
})

describe('a request from outside of a browser', () => {
  it('has no origin, and passes with a key for the shop', async () => {
    const response = await call({ 'X-API-Key': 'for the shop' })
    expect(response.status).toBe(202)
    expect(response.headers.get('Access-Control-Allow-Origin')).toBeNull()
    expect(response.headers.get('Vary')).toContain('Origin')
  })

  it('with an origin is checked against the list on other paths too', async () => {
    const headers = { 'X-API-Key': 'for the shop', Origin: 'https://evil.example' }
    expect((await call(headers, { path: '/internal/t' })).status).toBe(403)
  })
})
