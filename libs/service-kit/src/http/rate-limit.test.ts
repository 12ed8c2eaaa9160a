import { once } from 'node:events'
import { request } from 'node:http'
import { createMemoryRateLimiter, type RateLimiter } from '@waymark/cache'
import { trackEvents } from '@waymark/contracts/http/ingestion-operations'
import type { ApiKey } from '@waymark/project-config'
import { anyAnswers, createMemoryLog } from '@waymark/testing/unit'
import { Router } from 'express'
import { Registry } from 'prom-client'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createHttpApp } from './create-http-app.ts'
import { type HttpServer, listen } from './http-server.ts'
import { keyRoute } from './key-route.ts'
import { rateLimit } from './rate-limit.ts'
import { mountRoutes, type Route } from './router.ts'

const BODY_LIMIT = 100
const LIMITS: Record<string, number> = { small: 2, large: 5 }

/** A key is written as its project, then `/` and its scope, then `/` and its own limit. */
const authenticate = async (text: string): Promise<ApiKey | undefined> => {
  const [projectId = '', scope = 'events:write', own] = text.split('/')
  if (projectId === '') return undefined
  const scopes = [scope] as ApiKey['scopes']
  const requestsPerMinute = own === undefined ? null : Number(own)
  return {
    id: text,
    tenantId: 'tenant-1',
    projectId,
    kind: 'sec',
    scopes,
    validationMode: null,
    allowedOrigins: [],
    requestsPerMinute,
    environment: 'production',
  }
}

const operation = (path: string) => ({
  ...trackEvents,
  answers: anyAnswers,
  path,
  access: { by: 'key', scope: 'events:write' } as const,
})
const limitBy = (bucket: string, limiter: RateLimiter) => ({
  apiKeys: { authenticate },
  limitRequests: rateLimit({
    limiter,
    bucket,
    limitFor: async ({ projectId }) => ({ perMinute: LIMITS[projectId] ?? 0, setting: 'LIMIT_OF_THIS_TEST' }),
    perKey: bucket === 'decide',
  }),
  maxBodyBytes: BODY_LIMIT,
})

const limited = (path: string, bucket: string, limiter: RateLimiter): Route =>
  keyRoute(operation(path), limitBy(bucket, limiter), async () => ({ status: 202, body: { ok: true } }))

describe('a key route', () => {
  let server: HttpServer
  let base: string
  beforeEach(async () => {
    const limiter = createMemoryRateLimiter()
    const app = createHttpApp({
      router: mountRoutes(Router(), [
        limited('/api/v1/t', 'ingest', limiter),
        limited('/api/v1/other', 'other', limiter),
        limited('/api/v1/decide', 'decide', limiter),
      ]),
      trustedProxies: 1,
      isReady: () => true,
      log: createMemoryLog(),
      metrics: new Registry(),
    })
    server = await listen(app, 0)
    base = `http://127.0.0.1:${server.port}`
  })
  afterEach(() => server.stop())

  type Call = { key?: string; from?: string; path?: string; headers?: Record<string, string>; body?: string }
  const call = ({
    key = 'small',
    from = '203.0.113.1',
    path = '/api/v1/t',
    headers = {},
    body = '{}',
  }: Call = {}) =>
    fetch(base + path, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', 'X-API-Key': key, 'X-Forwarded-For': from, ...headers },
      body,
    })

  const statuses = async (calls: Call[]): Promise<number[]> => {
    const seen: number[] = []
    for (const each of calls) seen.push((await call(each)).status)
    return seen
  }

  const rateOf = ({ headers }: Response) =>
    ['Limit', 'Remaining', 'Reset']
      .map((name) => headers.get(`RateLimit-${name}`))
      .map((text) => text && Number(text))

  describe('a limited path', () => {
    it('reports the remaining requests with each response', async () => {
      for (const remaining of [1, 0]) {
        const response = await call()
        expect(response.status).toBe(202)
        expect(rateOf(response)).toEqual([2, remaining, 60])
        expect(response.headers.get('Retry-After')).toBeNull()
      }
    })

    it('answers 429 beyond the limit, with the retry time', async () => {
      await statuses([{}, {}])
      const response = await call()
      expect(response.status).toBe(429)
      const retryAfter = Number(response.headers.get('Retry-After'))
      expect(retryAfter).toSatisfy(Number.isInteger)
      expect(retryAfter).toBeGreaterThanOrEqual(1)
      expect(retryAfter).toBeLessThanOrEqual(60)
      expect(await response.json()).toEqual({
        error:
          'Too many requests: at most 2 per minute for each project and client address, set by LIMIT_OF_THIS_TEST',
        retryAfter,
      })
      expect(rateOf(response)).toEqual([2, 0, retryAfter])
    })

    it('lets a page in a browser read these headers', async () => {
      await statuses([{}, {}])
      const response = await call({ headers: { Origin: 'https://shop.example' } })
      expect(response.status).toBe(429)
      expect(response.headers.get('Access-Control-Allow-Origin')).toBe('https://shop.example')
      expect(response.headers.get('Access-Control-Expose-Headers')).toContain('Retry-After')
    })

    it('has the limit of the project', async () => {
      expect(await statuses(Array(6).fill({ key: 'large' }))).toEqual([202, 202, 202, 202, 202, 429])
      expect(await statuses([{ key: 'of no limit known' }])).toEqual([429])
    })

    it('counts each project, address and bucket separately', async () => {
      expect(await statuses([{}, {}, {}])).toEqual([202, 202, 429])
      expect(
        await statuses([{ key: 'large' }, { from: '203.0.113.2' }, { path: '/api/v1/other' }, {}]),
      ).toEqual([202, 202, 202, 429])
    })

    it('counts the keys of a project together', async () => {
      expect(await statuses([{ key: 'small' }, { key: 'small/events:write' }, { key: 'small' }])).toEqual([
        202, 202, 429,
      ])
    })

    it('counts a key with its own limit separately, over all addresses', async () => {
      const path = '/api/v1/decide'
      const own = (from: string) => ({ key: 'small/events:write/4', from, path })
      const addresses = ['203.0.113.1', '203.0.113.2', '203.0.113.3', '203.0.113.4', '203.0.113.5']
      expect(await statuses(addresses.map(own))).toEqual([202, 202, 202, 202, 429])
      const refused = await call(own('203.0.113.6'))
      const retryAfter = Number(refused.headers.get('Retry-After'))
      expect(await refused.json()).toEqual({
        error:
          'Too many requests: at most 4 per minute for each API key, set by requestsPerMinute of the API key',
        retryAfter,
      })
      expect(rateOf(refused)).toEqual([4, 0, retryAfter])
      // Another key of the project from the same address has its own count, and so has the address.
      expect(
        await statuses([
          { key: 'small/events:write/1', path },
          { key: 'small/events:write/1', path },
          { path },
          { path },
          { path },
        ]),
      ).toEqual([202, 429, 202, 202, 429])
    })

    it('applies the limit per address to keys without their own limit', async () => {
      expect(await statuses(Array(3).fill({ key: 'small/events:write/4' }))).toEqual([202, 202, 429])
    })

    it('ignores an address that the client invents', async () => {
      expect(
        await statuses(['1.1.1.1', '2.2.2.2', '3.3.3.3'].map((made) => ({ from: `${made}, 203.0.113.1` }))),
      ).toEqual([202, 202, 429])
    })

    it('counts an IPv6 network as one client', async () => {
      expect(
        await statuses(
          ['2001:db8::1', '2001:db8::ffff:2', '2001:db8:0:0:3::', '2001:db8:0:1::1'].map((from) => ({
            from,
          })),
        ),
      ).toEqual([202, 202, 429, 202])
    })
  })

  describe('the order of checks', () => {
    const tooLarge = { body: `"${'x'.repeat(BODY_LIMIT)}"` }
    const notJson = { headers: { 'Content-Type': 'text/plain' } }

    it('is 401, 403, 429, then 413 and 415, then 400', async () => {
      expect(
        await statuses([
          { ...tooLarge, key: '' },
          { ...tooLarge, key: 'small/decide' },
        ]),
      ).toEqual([401, 403])
      expect(await statuses([tooLarge, notJson])).toEqual([413, 415])
      expect(await statuses([tooLarge, notJson, { body: '{' }])).toEqual([429, 429, 429])
      expect(await statuses([{ body: '{', from: '203.0.113.2' }])).toEqual([400])
    })

    it('does not count requests without a valid key, and reports no limits to them', async () => {
      for (const key of ['', 'small/decide', '', 'small/decide']) {
        expect(rateOf(await call({ key }))).toEqual([null, null, null])
      }
      expect(rateOf(await call())).toEqual([2, 1, 60])
    })

    it('does not read the body of a request beyond the limit', async () => {
      await statuses([{}, {}])
      const headers = {
        'X-API-Key': 'small',
        'X-Forwarded-For': '203.0.113.1',
        'Content-Type': 'application/json',
        'Content-Length': 50,
      }
      const withheld = request(`${base}/api/v1/t`, { method: 'POST', headers })
      withheld.flushHeaders()
      const [response] = await once(withheld, 'response')
      expect(response.statusCode).toBe(429)
      withheld.destroy()
    })
  })
})
