import { once } from 'node:events'
import { request } from 'node:http'
import { createMemoryRateLimiter } from '@waymark/cache'
import { trackEvents } from '@waymark/contracts/http/ingestion-operations'
import type { ApiKey } from '@waymark/project-config'
import { anyAnswers, createMemoryLog } from '@waymark/testing/unit'
import { Router } from 'express'
import { Registry } from 'prom-client'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createHttpApp } from './create-http-app.ts'
import { type HttpServer, listen } from './http-server.ts'
import { accessTokenInHeaders, keyInHeaders, keyRoute, MAX_BEACON_BYTES } from './key-route.ts'
import { rateLimit } from './rate-limit.ts'
import { mountRoutes } from './router.ts'

const SHOP = 'https://shop.example'
const NO_KEY = {
  error: 'Missing or invalid API key: send it as X-API-Key or as Authorization: Bearer',
}

const browser: ApiKey = {
  id: 'k',
  tenantId: 'tenant-1',
  projectId: 'project-1',
  kind: 'pub',
  scopes: ['events:write'],
  validationMode: null,
  requestsPerMinute: null,
  environment: 'production',
  allowedOrigins: [SHOP],
}
const keys: Record<string, ApiKey> = {
  'pub-key': browser,
  'pub-without-scope': { ...browser, scopes: ['decide'] },
  'sec-key': { ...browser, kind: 'sec', allowedOrigins: [] },
  'busy-key': { ...browser, projectId: 'busy' },
}

const log = createMemoryLog()
let server: HttpServer
let base: string
beforeAll(async () => {
  const route = keyRoute(
    { ...trackEvents, path: '/api/v1/t', access: { by: 'key', scope: 'events:write' }, answers: anyAnswers },
    {
      apiKeys: { authenticate: async (text) => keys[text] },
      limitRequests: rateLimit({
        limiter: createMemoryRateLimiter(),
        bucket: 'track',
        limitFor: ({ projectId }) => ({ perMinute: projectId === 'busy' ? 1 : 1_000, setting: 'TEST' }),
      }),
      maxBodyBytes: 100_000,
      beacons: true,
    },
    async ({ body }) => {
      if (JSON.stringify(body.value).includes('bug')) throw new TypeError('a bug')
      return { status: 202, body: { value: body.value } }
    },
  )
  const app = createHttpApp({
    router: mountRoutes(Router(), [route]),
    trustedProxies: 0,
    isReady: () => true,
    log,
    metrics: new Registry(),
  })
  server = await listen(app, 0)
  base = `http://127.0.0.1:${server.port}`
})
afterAll(() => server.stop())

const text = { 'Content-Type': 'text/plain;charset=UTF-8' }
const json = { 'Content-Type': 'application/json' }
const post = (path: string, body: string, headers: Record<string, string> = text) =>
  fetch(`${base}${path}`, { method: 'POST', body, headers })
const replyOf = async (response: Response) => [response.status, await response.json()]
const ofBytes = (bytes: number) => {
  const body = { apiKey: 'pub-key', filling: '' }
  return JSON.stringify({ ...body, filling: 'x'.repeat(bytes - JSON.stringify(body).length) })
}

describe('a request of a page that cannot set headers', () => {
  it.each(['/api/v1/t', '/api/v1/t/'])('has its key in the query or in its body: %s', async (path) => {
    const event = { eventName: 'left' }
    for (const [query, body] of [
      ['?apiKey=pub-key', event],
      ['', { ...event, apiKey: 'pub-key' }],
      ['?apiKey=pub-key', { ...event, apiKey: 'another' }],
    ] as const)
      expect(await replyOf(await post(`${path}${query}`, JSON.stringify(body)))).toEqual([
        202,
        { value: event },
      ])
  })

  it('may come from another site with cookies, and gets headers that a browser accepts', async () => {
    const response = await post('/api/v1/t?apiKey=pub-key', '{"eventName":"left"}', {
      ...text,
      Origin: SHOP,
      Cookie: 'session=1',
      'Sec-Fetch-Mode': 'no-cors',
    })
    expect(response.status).toBe(202)
    expect(response.headers.get('Cross-Origin-Resource-Policy')).toBe('cross-origin')
    expect(response.headers.get('Access-Control-Allow-Origin')).toBe(SHOP)
    expect(
      (await post('/api/v1/t?apiKey=pub-key', '{}', { ...text, Origin: 'https://evil.example' })).status,
    ).toBe(403)
  })

  it.each([
    ['no key at all', '', '{"eventName":"left"}'],
    ['an unknown key in the query', '?apiKey=nobody', '{"apiKey":"pub-key"}'],
    ['an empty key in the query', '?apiKey=', '{"eventName":"left"}'],
    ['an unknown key in the body', '', '{"apiKey":"nobody"}'],
    ['a key that is no text', '', '{"apiKey":["pub-key"]}'],
    ['what is not JSON', '', '{"apiKey":"pub-key"'],
    ['a list', '', '["pub-key"]'],
  ])('is answered 401 with %s, like any other', async (_what, query, body) => {
    expect(await replyOf(await post(`/api/v1/t${query}`, body))).toEqual([401, NO_KEY])
  })

  const form = { 'Content-Type': 'application/x-www-form-urlencoded' }
  it.each([
    ['a Blob of JSON', '{"apiKey":"pub-key","a":1}', { ...json, Origin: SHOP }],
    ...['application/octet-stream', 'text/html', 'text/json', 'application/x-ndjson'].map(
      (type): [string, string, Record<string, string>] => [
        `a Blob of ${type}`,
        '{"apiKey":"pub-key","a":1}',
        { 'Content-Type': type, Origin: SHOP },
      ],
    ),
    ['a form', 'apiKey=pub-key&a=1', form],
    ['a form with JSON', 'apiKey=pub-key&data=%7B%22a%22%3A1%7D', form],
    ['JSON with the type of a form', '{"apiKey":"pub-key","a":1}', form],
  ])('may be %s', async (_what, body, headers) => {
    expect((await post('/api/v1/t', body, headers)).status).toBe(202)
  })

  it('may be bytes without a type', async () => {
    const body = Buffer.from('{"apiKey":"pub-key","a":1}')
    expect((await fetch(`${base}/api/v1/t`, { method: 'POST', body })).status).toBe(202)
  })

  it('is answered 401 for a key in the body of a request that is not text', async () => {
    expect(await replyOf(await post('/api/v1/t', '{"apiKey":"pub-key"}', json))).toEqual([401, NO_KEY])
  })

  it('is read up to 64 KiB to find the key', async () => {
    expect((await post('/api/v1/t', ofBytes(MAX_BEACON_BYTES))).status).toBe(202)
    expect(await replyOf(await post('/api/v1/t', ofBytes(MAX_BEACON_BYTES + 1)))).toEqual([401, NO_KEY])
    // With the key elsewhere, the limit of the route applies.
    expect((await post('/api/v1/t?apiKey=pub-key', ofBytes(MAX_BEACON_BYTES + 1))).status).toBe(202)
    expect((await post('/api/v1/t?apiKey=pub-key', ofBytes(100_001))).status).toBe(413)
  })

  it('has no key when its body does not arrive', async () => {
    const sending = request(`${base}/api/v1/t`, {
      method: 'POST',
      headers: { ...text, 'Content-Length': 100 },
    })
    sending.on('error', () => {})
    sending.write('{"apiKey":"pub-key"')
    const [answer] = await once(sending, 'response')
    expect(answer.statusCode).toBe(401)
    sending.destroy()
  })

  it.each([
    ['?apiKey=sec-key', '{"eventName":"left"}', text],
    ['?apiKey=sec-key', '{"eventName":"left"}', json],
    ['', '{"apiKey":"sec-key"}', text],
  ])('never uses a sec key: %s %s', async (query, body, headers) => {
    expect(await replyOf(await post(`/api/v1/t${query}`, body, headers))).toEqual([
      403,
      { error: 'A key of kind sec is only taken as X-API-Key or as Authorization: Bearer' },
    ])
  })

  it('is answered 401, 403, 429, 415 and 400 in this order', async () => {
    expect((await post('/api/v1/t?apiKey=nobody&x=1', '{')).status).toBe(401)
    expect((await post('/api/v1/t?apiKey=pub-without-scope&x=1', '{')).status).toBe(403)
    expect((await post('/api/v1/t?apiKey=busy-key', '{"a":1}')).status).toBe(202)
    expect((await post('/api/v1/t?apiKey=busy-key&x=1', '{')).status).toBe(429)
    expect((await post('/api/v1/t?apiKey=pub-key&x=1', '{', { 'Content-Type': 'text/html' })).status).toBe(
      415,
    )
    expect((await post('/api/v1/t?apiKey=pub-key', '{')).status).toBe(400)
    const [status, body] = await replyOf(await post('/api/v1/t?apiKey=pub-key&x=1', '{}'))
    expect([status, body]).toEqual([
      400,
      { error: 'x is not a known query parameter; allowed: sync, apiKey, cookieless' },
    ])
  })

  it('logs no key, also when it fails', async () => {
    expect((await post('/api/v1/t?apiKey=pub-key', '"bug"')).status).toBe(500)
    expect((await post('/api/v1/t', '{"apiKey":"pub-key","a":"bug"}')).status).toBe(500)
    expect(log.lines.length).toBeGreaterThan(0)
    expect(JSON.stringify(log.lines)).not.toContain('pub-key')
  })
})

describe('a key in a header', () => {
  it.each([
    ['X-API-Key', 'pub-key'],
    ['Authorization', 'Bearer pub-key'],
    ['Authorization', 'bearer  sec-key'],
  ])('is parsed as %s: %s', async (name, value) => {
    expect((await post('/api/v1/t', '{"a":1}', { ...json, [name]: value })).status).toBe(202)
  })

  it('is X-API-Key if there are both, unless that is empty', async () => {
    const both = (first: string, second: string) =>
      post('/api/v1/t', '{}', { ...json, 'X-API-Key': first, Authorization: `Bearer ${second}` })
    expect((await both('nobody', 'pub-key')).status).toBe(401)
    expect((await both('', 'pub-key')).status).toBe(202)
  })

  it.each(['Basic cHViLWtleTo=', 'Bearer', 'Bearer ', 'pub-key', 'Bearer nobody'])(
    'is missing or invalid in Authorization: %s',
    async (value) => {
      expect(await replyOf(await post('/api/v1/t', '{}', { ...json, Authorization: value }))).toEqual([
        401,
        NO_KEY,
      ])
    },
  )

  it('allows text with a pub key, and only JSON with a sec key', async () => {
    expect((await post('/api/v1/t', '{"a":1}', { ...text, 'X-API-Key': 'pub-key' })).status).toBe(202)
    expect((await post('/api/v1/t', '{"a":1}', { ...text, 'X-API-Key': 'sec-key' })).status).toBe(415)
  })
})

describe('the header X-Config-Version', () => {
  const send = (version: string, key = 'pub-key') =>
    post('/api/v1/t', '{"eventName":"left"}', { ...json, 'X-API-Key': key, 'X-Config-Version': version })

  it.each(['0', '1764064800000000', '9'.repeat(19)])('may be %s', async (version) => {
    expect((await send(version)).status).toBe(202)
  })

  it.each(['', '-1', '1e9', '1.5', 'latest', '9'.repeat(20), '1, 2', 'x'.repeat(1_000)])(
    'is refused when it is %j',
    async (version) => {
      const response = await send(version)
      const { error } = (await response.json()) as { error: string }
      expect(response.status).toBe(400)
      expect(error).toBe(
        `The header X-Config-Version must be the value that a write answered, an integer from 0 up; got ${JSON.stringify(version.slice(0, 64))}`,
      )
    },
  )

  it('is checked after the key and the limit', async () => {
    expect((await send('latest', 'nobody')).status).toBe(401)
    expect((await send('latest', 'pub-without-scope')).status).toBe(403)
    await send('0', 'busy-key')
    expect((await send('latest', 'busy-key')).status).toBe(429)
  })
})

describe('the header Authorization', () => {
  const token = `wm_pat_${'x'.repeat(43)}`
  it.each([
    ['an API key', { authorization: 'Bearer wm_sec_1' }, 'wm_sec_1', undefined],
    ['an access token', { authorization: `bearer ${token}` }, undefined, token],
    ['an access token beside a key', { authorization: `Bearer ${token}`, 'x-api-key': 'key' }, 'key', token],
    ['an access token as a key', { 'x-api-key': token }, token, undefined],
    ['another scheme', { authorization: `Basic ${token}` }, undefined, undefined],
    ['nothing', {}, undefined, undefined],
  ])('holds %s', (_what, headers, key, accessToken) => {
    expect(keyInHeaders({ headers })).toBe(key)
    expect(accessTokenInHeaders({ headers })).toBe(accessToken)
  })
})
