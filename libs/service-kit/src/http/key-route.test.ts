import { once } from 'node:events'
import { request } from 'node:http'
import { gzipSync } from 'node:zlib'
import { createMemoryRateLimiter } from '@waymark/cache'
import { trackEvents } from '@waymark/contracts/http/ingestion-operations'
import type { ApiKey } from '@waymark/project-config'
import { anyAnswers, createMemoryLog, eventually } from '@waymark/testing/unit'
import { Router } from 'express'
import { Registry } from 'prom-client'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createHttpApp } from './create-http-app.ts'
import { type HttpServer, listen } from './http-server.ts'
import { keyRoute } from './key-route.ts'
import { rateLimit } from './rate-limit.ts'
import { mountRoutes } from './router.ts'

const BODY_LIMIT = 1_000
const SHOP = 'https://shop.example'

const key: ApiKey = {
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

/** Keys that a test can revoke. */
const valid = new Set<string>()
let authenticated = 0
let stored = 0

const track = keyRoute(
  { ...trackEvents, path: '/api/v1/t', access: { by: 'key', scope: 'events:write' }, answers: anyAnswers },
  {
    apiKeys: {
      authenticate: async (text) => {
        authenticated++
        return text === 'key' || valid.has(text) ? key : undefined
      },
    },
    limitRequests: rateLimit({
      limiter: createMemoryRateLimiter(),
      bucket: 'track',
      limitFor: () => ({ perMinute: 1_000, setting: 'LIMIT_OF_THIS_TEST' }),
    }),
    maxBodyBytes: BODY_LIMIT,
  },
  async ({ body, request: { ip } }) => {
    if (body.value === 'bug') throw new TypeError('the password is hunter2')
    stored++
    return { status: 202, body: { value: body.value, ip } }
  },
)

let server: HttpServer
let base: string
beforeAll(async () => {
  const log = createMemoryLog()
  const metrics = new Registry()
  const app = createHttpApp({
    router: mountRoutes(Router(), [track]),
    trustedProxies: 1,
    isReady: () => true,
    log,
    metrics,
  })
  server = await listen(app, 0)
  base = `http://127.0.0.1:${server.port}`
})
afterAll(() => server.stop())

const post = (
  body: string | Uint8Array<ArrayBuffer>,
  headers: Record<string, string> = {},
  path = '/api/v1/t',
) =>
  fetch(base + path, {
    method: 'POST',
    body,
    headers: { 'X-API-Key': 'key', 'Content-Type': 'application/json', ...headers },
  })
const jsonOf = (bytes: number) => JSON.stringify('x'.repeat(bytes - 2))

describe('a key route', () => {
  it.each(['/api/v1/t', '/api/v1/t/', '/API/v1/T', '/api/v1/t?sync=1'])('is found as %s', async (path) => {
    const response = await post(
      '{"a":1}',
      { 'X-Forwarded-For': '192.0.2.9, 198.51.100.7:5678', 'X-Request-Id': 'mine' },
      path,
    )
    expect([response.status, await response.json()]).toEqual([202, { value: { a: 1 }, ip: '198.51.100.7' }])
    expect(response.headers.get('X-Request-Id')).toBe('mine')
    expect(response.headers.get('X-Content-Type-Options')).toBe('nosniff')
    expect(response.headers.get('Strict-Transport-Security')).toMatch(/max-age=/)
    expect(response.headers.get('RateLimit-Limit')).toBe('1000')
  })

  it.each(['a', 'ÿ', 'Größe', '靴', '👟'])('answers %s with the right Content-Length', async (value) => {
    const response = await post(JSON.stringify(value))
    const bytes = Buffer.from(await response.arrayBuffer())
    expect(JSON.parse(bytes.toString())).toMatchObject({ value })
    expect(response.headers.get('Content-Length')).toBe(`${bytes.length}`)
  })

  it('refuses other methods', async () => {
    const response = await fetch(`${base}/api/v1/t`, { method: 'DELETE' })
    expect([response.status, response.headers.get('Allow')]).toEqual([405, 'POST'])
  })
})

describe('a request with a key', () => {
  it.each([
    ['a bad key', '{}', { 'X-API-Key': 'no' }, 401],
    ['another type', '{}', { 'Content-Type': 'text/plain' }, 415],
    ['an unknown encoding', '{}', { 'Content-Encoding': 'zip' }, 415],
    ['what is not JSON', '{', {}, 400],
    ['nothing', '', {}, 400],
    ['one byte too many', jsonOf(BODY_LIMIT + 1), {}, 413],
    ['too much that is compressed', gzipSync(jsonOf(BODY_LIMIT + 1)), { 'Content-Encoding': 'gzip' }, 413],
    ['a bug', '"bug"', {}, 500],
  ])('answers %s', async (_name, body, headers, status) => {
    const response = await post(body, headers)
    expect(response.status).toBe(status)
    expect(await response.json()).toEqual({ error: expect.not.stringContaining('hunter2') })
    expect(response.headers.get('RateLimit-Limit')).toBe(status === 401 ? null : '1000')
  })

  it.each([
    ['plain', jsonOf(BODY_LIMIT), {}],
    ['compressed', gzipSync(jsonOf(BODY_LIMIT)), { 'Content-Encoding': 'gzip' }],
  ])('accepts as much as is allowed, %s', async (_name, body, headers) => {
    expect((await post(body, headers)).status).toBe(202)
  })

  it('refuses one byte too many without Content-Length, and keeps answering', async () => {
    const client = request(`${base}/api/v1/t`, {
      method: 'POST',
      headers: { 'X-API-Key': 'key', 'Content-Type': 'application/json' },
    })
    client.write(jsonOf(BODY_LIMIT))
    client.end(' ')
    const [response] = await once(client, 'response')
    expect(response.statusCode).toBe(413)
    expect((await post('{}')).status).toBe(202)
  })

  it('may be read by pages of its origins, and by no others', async () => {
    const allowed = await post('{}', { Origin: SHOP })
    expect(allowed.status).toBe(202)
    expect(allowed.headers.get('Access-Control-Allow-Origin')).toBe(SHOP)
    expect(allowed.headers.get('Vary')).toContain('Origin')
    const refused = await post('{}', { Origin: 'https://else.example' })
    expect(refused.status).toBe(403)
    expect(refused.headers.get('Access-Control-Allow-Origin')).toBeNull()
  })
})

describe('a body that is sent slowly', () => {
  const hold = async (apiKey: string, parts: readonly string[], whileHeld: () => void) => {
    const [first = '', rest = ''] = parts
    const headers = { 'X-API-Key': apiKey, 'Content-Type': 'application/json', 'Content-Length': 4 }
    const asked = request(`${base}/api/v1/t`, { method: 'POST', headers })
    const answered = once(asked, 'response')
    const calls = authenticated
    asked.write(first)
    await eventually('its key is checked', () => authenticated > calls)
    whileHeld()
    asked.end(rest)
    const [response] = await answered
    response.resume()
    return response.statusCode as number
  }

  it('is stored for a key that is still valid', async () => {
    valid.add('held')
    expect(await hold('held', ['tr', 'ue'], () => {})).toBe(202)
  })

  it('is refused when its key was revoked meanwhile, and changes nothing', async () => {
    valid.add('held')
    const before = stored
    expect(await hold('held', ['tr', 'ue'], () => valid.delete('held'))).toBe(401)
    expect(stored).toBe(before)
  })
})
