import { once } from 'node:events'
import { type OutgoingHttpHeaders, request } from 'node:http'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { brotliCompressSync, constants, deflateRawSync, deflateSync, gzipSync } from 'node:zlib'
import { AppError, type ErrorCode } from '@waymark/contracts/app-error'
import { trackEvents } from '@waymark/contracts/http/ingestion-operations'
import { MAX_TRACK_BODY_BYTES } from '@waymark/contracts/http/track-request'
import type { ApiKey } from '@waymark/project-config'
import { anyAnswers, createMemoryLog, eventually } from '@waymark/testing/unit'
import { Router } from 'express'
import { Registry } from 'prom-client'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createHttpApp } from './create-http-app.ts'
import { type HttpServer, listen } from './http-server.ts'
import { readJsonBody } from './json-body.ts'
import { keyRoute } from './key-route.ts'
import { mountRoutes, type Route, route } from './router.ts'

const BODY_LIMIT = 1_000
const UUID = /^[0-9a-f-]{36}$/

const statuses: Record<ErrorCode, number> = {
  bad_request: 400,
  unauthorized: 401,
  forbidden: 403,
  not_found: 404,
  method_not_allowed: 405,
  request_timeout: 408,
  conflict: 409,
  precondition_failed: 412,
  payload_too_large: 413,
  unsupported_media_type: 415,
  unprocessable: 422,
  rate_limited: 429,
  internal: 500,
  queue_unavailable: 503,
  store_unavailable: 503,
  overloaded: 503,
}

const writer: ApiKey = {
  id: 'k',
  tenantId: 'tenant-1',
  projectId: 'project-1',
  kind: 'sec',
  scopes: ['events:write'],
  validationMode: null,
  requestsPerMinute: null,
  environment: 'production',
  allowedOrigins: [],
}
const apiKeys = {
  authenticate: async (text: string): Promise<ApiKey | undefined> => {
    if (text === 'store away') throw new AppError('store_unavailable', 'STORE_UNAVAILABLE', { retryAfter: 5 })
    if (text === 'writer') return writer
    return text === 'reader' ? { ...writer, scopes: ['manage:read'] } : undefined
  },
}

const routes: Route[] = [
  route({ method: 'post', path: '/items/special' }, () => ({ body: {} })),
  route({ method: 'get', path: '/items/{id}' }, ({ params: { id } }) => ({ body: { id } })),
  route({ method: 'post', path: '/echo' }, async (request) => {
    const { value, bytes } = await readJsonBody(request, BODY_LIMIT)
    return { body: { value, bytes } }
  }),
  route({ method: 'post', path: '/large' }, async (request) => {
    const { bytes } = await readJsonBody(request, MAX_TRACK_BODY_BYTES)
    return { body: { bytes } }
  }),
  keyRoute(
    { ...trackEvents, path: '/guarded', answers: anyAnswers },
    { apiKeys, maxBodyBytes: BODY_LIMIT },
    async ({ apiKey }) => ({ body: apiKey }),
  ),
  route({ method: 'get', path: '/fail/{code}' }, async ({ params }) => {
    throw new AppError(params.code as ErrorCode, 'what happened', { retryAfter: 7, more: [1] })
  }),
  route({ method: 'get', path: '/managed', management: true }, async () => {
    throw new AppError('store_unavailable', 'STORE_UNAVAILABLE', { retryAfter: 5 })
  }),
  route({ method: 'get', path: '/bug' }, async () => {
    throw new TypeError('the password is hunter2')
  }),
  route({ method: 'get', path: '/bad-header' }, () => ({ status: 302, headers: { Location: '\u20AC' } })),
  route({ method: 'get', path: '/page' }, ({ replyHeaders }) => {
    replyHeaders['Content-Type'] = 'text/css'
    replyHeaders['Cache-Control'] = 'public, max-age=3600'
    throw new AppError('unprocessable', 'not this page')
  }),
  route({ method: 'get', path: '/half' }, () => ({ type: 'text/plain', stream: brokenAfter(['half']) })),
  route({ method: 'get', path: '/none' }, () => ({ type: 'text/plain', stream: brokenAfter([]) })),
  route({ method: 'get', path: '/empty' }, () => ({ type: 'text/plain', stream: emptyStream() })),
  route({ method: 'get', path: '/address' }, ({ ip }) => ({ body: { ip } })),
  route({ method: 'get', path: '/own/{code}' }, ({ params: { code } }) => ({ body: `of ${code}` })),
  route({ method: 'get', path: '/own/whole' }, () => ({ body: 'a path of its own' })),
  route({ method: 'get', path: '/for-programs', forPrograms: true }, ({ url }) => {
    if (url.endsWith('?fail')) throw new AppError('not_found', 'Not found')
    return url.endsWith('?shown') ? { status: 404, shown: true } : { status: 409, body: {} }
  }),
]

async function* brokenAfter(pieces: string[]): AsyncGenerator<string> {
  yield* pieces
  throw new Error('the rest is lost')
}
async function* emptyStream(): AsyncGenerator<string> {}

const log = createMemoryLog()
const metrics = new Registry()
let ready = true
let server: HttpServer
let base: string

beforeAll(async () => {
  server = await listen(
    createHttpApp({
      router: mountRoutes(Router(), routes),
      trustedProxies: 1,
      isReady: () => ready,
      log,
      metrics,
    }),
    0,
  )
  base = `http://127.0.0.1:${server.port}`
})
afterAll(() => server.stop())
beforeEach(() => {
  log.lines.length = 0
})

const post = (path: string, body: string | Uint8Array<ArrayBuffer>, headers: Record<string, string> = {}) =>
  fetch(base + path, { method: 'POST', body, headers: { 'Content-Type': 'application/json', ...headers } })

/** JSON text of exactly `bytes` bytes. */
const jsonOf = (bytes: number) => JSON.stringify('x'.repeat(bytes - 2))

const expectError = async (response: Response, status: number) => {
  expect(response.status).toBe(status)
  expect(response.headers.get('Content-Type')).toMatch(/^application\/json/)
  expect(response.headers.get('X-Request-Id')).toMatch(UUID)
  const body = (await response.json()) as { error: string }
  expect(body.error).toMatch(/./)
  expect(body).not.toHaveProperty('stack')
  return body
}

describe('a path', () => {
  it('is handled by its route', async () => {
    const response = await fetch(`${base}/items/7%2F8?x=1`)
    expect(await response.json()).toEqual({ id: '7/8' })
    expect(response.headers.get('X-Request-Id')).toMatch(UUID)
    expect(response.headers.get('X-Content-Type-Options')).toBe('nosniff')
    expect(response.headers.get('X-Powered-By')).toBeNull()
  })

  it.each([
    ['/own/a-1', 'of a-1'],
    ['/OWN/A%20b/', 'of A b'],
    ['/own/whole', 'a path of its own'],
    ['/own/Whole/', 'a path of its own'],
    ['/own/whole1', 'of whole1'],
    ['/own/a?b=/c/#d', 'of a'],
    [`/own/${'x'.repeat(2_000)}`, `of ${'x'.repeat(2_000)}`],
  ])('is found by its parts, in upper and lower case: %s', async (path, body) => {
    expect(await (await fetch(base + path)).json()).toBe(body)
  })

  it('may be a whole URL, as sent to a proxy', async () => {
    const client = connect(server.port)
    client.write('GET http://test/own/a?b HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n')
    expect(await text(client)).toMatch(/^HTTP\/1.1 200 [\s\S]*"of a"$/)
  })

  it('is answered to HEAD as to GET, without the body', async () => {
    const [got, asked] = await Promise.all(
      ['GET', 'HEAD'].map((method) => fetch(`${base}/items/7`, { method })),
    )
    expect(asked?.status).toBe(200)
    expect(asked?.headers.get('Content-Length')).toBe(got?.headers.get('Content-Length'))
    expect(await asked?.text()).toBe('')
  })

  it.each(['/nowhere', '/nowhere/%E0%A4%A', '/items', '/items/', '/items//', '//', '/__proto__', '/%6fwn/a'])(
    'that no route has is 404: %s',
    async (path) => {
      await expectError(await fetch(base + path), 404)
    },
  )

  it.each([
    ['DELETE', '/items/7', 'GET'],
    ['GET', '/echo', 'POST'],
    ['POST', '/healthz', 'GET'],
    ['PUT', '/readyz', 'GET'],
    ['DELETE', '/items/special', 'POST, GET'],
  ])('with another method is 405: %s %s', async (method, path, allowed) => {
    const response = await fetch(base + path, { method })
    await expectError(response, 405)
    expect(response.headers.get('Allow')).toBe(allowed)
  })

  it('with an invalid escape is 400', async () => {
    await expectError(await fetch(`${base}/items/%E0%A4%A`), 400)
  })
})

describe('a request id', () => {
  const idFor = async (given: string) =>
    (await fetch(`${base}/healthz`, { headers: { 'X-Request-Id': given } })).headers.get('X-Request-Id')

  it.each(['abc-1', 'a'.repeat(100), 'trace:1.2_3'])('is unchanged: %s', async (given) => {
    expect(await idFor(given)).toBe(given)
  })

  it.each(['', 'a'.repeat(101), 'with space', '<script>'])('is replaced: %j', async (given) => {
    expect(await idFor(given)).toMatch(UUID)
  })
})

it.each(['/items/%00', '/items/a%00b', '/%00'])('%s is not found: unknown name', async (path) => {
  await expectError(await fetch(`${base}${path}`), 404)
})

it('is in an error, which is JSON that is not cached', async () => {
  const response = await fetch(`${base}/page`)
  expect(response.status).toBe(422)
  expect(response.headers.get('Content-Type')).toMatch(/^application\/json/)
  expect(response.headers.get('Cache-Control')).toBe('no-store')
})

describe('a JSON body', () => {
  it('is read with its size', async () => {
    const response = await post('/echo', '{"a":"ä\\u0000"}')
    expect(await response.json()).toEqual({ value: { a: 'ä\uFFFD' }, bytes: 16 })
  })

  it.each([
    ['gzip', gzipSync],
    ['x-gzip', gzipSync],
    ['deflate', deflateSync],
    ['deflate', deflateRawSync],
    ['br', brotliCompressSync],
    ['identity, gzip', gzipSync],
    ['identity', (text: string) => Buffer.from(text)],
    ['', (text: string) => Buffer.from(text)],
  ])('may be compressed by %j, and is measured after decompression', async (encoding, compress) => {
    const response = await post('/echo', new Uint8Array(compress(jsonOf(BODY_LIMIT))), {
      'Content-Encoding': encoding,
    })
    expect(await response.json()).toMatchObject({ bytes: BODY_LIMIT })
    const larger = new Uint8Array(compress(jsonOf(BODY_LIMIT + 1)))
    await expectError(await post('/echo', larger, { 'Content-Encoding': encoding }), 413)
  })

  it.each(['gzip', 'x-gzip', 'deflate', 'br'])('is refused when it is not %s', async (encoding) => {
    const response = await post('/echo', 'plain', { 'Content-Encoding': encoding })
    expect(response.status).toBe(400)
    expect(await response.json()).toEqual({
      error: 'The body is not compressed as the request says',
    })
  })

  it.each([
    ['as it is', undefined, (text: string) => Buffer.from(text)],
    ['by gzip', 'gzip', gzipSync],
    ['by deflate', 'deflate', deflateSync],
    [
      'by br',
      'br',
      (text: string) => brotliCompressSync(text, { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } }),
    ],
  ])('may have at most 1 MiB, sent %s', async (_how, encoding, encode) => {
    const send = (bytes: number) =>
      post('/large', new Uint8Array(encode(jsonOf(bytes))), encoding ? { 'Content-Encoding': encoding } : {})
    const largest = await send(1_048_576)
    expect(largest.status).toBe(200)
    expect(await largest.json()).toEqual({ bytes: 1_048_576 })
    await expectError(await send(1_048_577), 413)
  })

  it('is refused one byte over the limit, with and without Content-Length', async () => {
    expect((await post('/echo', jsonOf(BODY_LIMIT))).status).toBe(200)
    const { error } = await expectError(await post('/echo', jsonOf(BODY_LIMIT + 1)), 413)
    expect(error).toBe(`The request body is larger than ${BODY_LIMIT} bytes`)
    const unknownLength = ReadableStream.from([Buffer.from(jsonOf(BODY_LIMIT + 1))])
    const streamed = { method: 'POST', body: unknownLength, duplex: 'half' as const }
    await expectError(
      await fetch(`${base}/echo`, { ...streamed, headers: { 'Content-Type': 'application/json' } }),
      413,
    )
  })

  const endless = gzipSync('{}')
  it.each<[string, OutgoingHttpHeaders, Buffer]>([
    ['by its length', { 'Content-Length': BODY_LIMIT + 1 }, Buffer.from('{')],
    ['by what has come', {}, Buffer.alloc(BODY_LIMIT + 1, ' ')],
    ['by what it is decompressed to', { 'Content-Encoding': 'gzip' }, gzipSync(Buffer.alloc(100_000, ' '))],
    [
      'by what is compressed of nothing',
      { 'Content-Encoding': 'gzip' },
      Buffer.concat(Array.from({ length: 100 }, () => endless)),
    ],
  ])('is refused before all of it has arrived, %s', async (_how, headers, part) => {
    const asked = request(`${base}/echo`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', ...headers },
    })
    asked.on('error', () => {})
    asked.write(part)
    const [response] = await once(asked, 'response')
    expect(response.statusCode).toBe(413)
    asked.destroy()
  })

  it('is limited after decompression: ten megabytes from ten kilobytes', async () => {
    const bomb = new Uint8Array(gzipSync(Buffer.alloc(10_000_000)))
    expect(bomb.length).toBeLessThan(10_000)
    const small = new Uint8Array(gzipSync(Buffer.alloc(900_000)))
    expect(small.length).toBeLessThan(BODY_LIMIT)
    for (const body of [bomb, small])
      await expectError(await post('/echo', body, { 'Content-Encoding': 'gzip' }), 413)
  })

  it.each(['', '{', '{"a":}', 'null null', '\uFEFF\uFEFF1', "{'a':1}", '[1,]'])('is not %j', async (text) => {
    await expectError(await post('/echo', text), 400)
  })

  it.each([[], ['Content-Encoding: gzip']])('is not missing silently', async (...more) => {
    // Clients in Node.js always send a length.
    const client = connect(server.port)
    const headers = ['Host: test', 'Content-Type: application/json', 'Connection: close', ...more]
    client.write(`POST /echo HTTP/1.1\r\n${headers.join('\r\n')}\r\n\r\n`)
    expect(await text(client)).toMatch(/^HTTP\/1.1 400 /)
  })

  it('is refused when its compressed data is incomplete', async () => {
    const half = new Uint8Array(gzipSync('{"a":1}')).slice(0, 12)
    await expectError(await post('/echo', half, { 'Content-Encoding': 'gzip' }), 400)
  })

  it.each(['text/plain', 'application/jsonp', 'application/x-www-form-urlencoded', '', 'json'])(
    'is not of type %j',
    async (type) => {
      await expectError(await post('/echo', '{}', { 'Content-Type': type }), 415)
    },
  )

  it.each(['application/json; charset=utf-8', 'APPLICATION/JSON', 'application/ld+json'])(
    'is of type %s',
    async (type) => {
      expect((await post('/echo', '{}', { 'Content-Type': type })).status).toBe(200)
    },
  )

  it.each(['zip', 'gzip, br', 'compress'])('is not compressed by %s', async (encoding) => {
    const { error } = await expectError(await post('/echo', '{}', { 'Content-Encoding': encoding }), 415)
    expect(error).toBe(`The Content-Encoding must be one of gzip, deflate, br; got "${encoding}"`)
  })

  it('may be nested 100,000 levels', async () => {
    const deep = '['.repeat(100_000) + ']'.repeat(100_000)
    await expectError(
      await post('/echo', new Uint8Array(gzipSync(deep)), { 'Content-Encoding': 'gzip' }),
      413,
    )
    await expectError(await post('/echo', '['.repeat(BODY_LIMIT)), 400)
  })
})

describe('security headers', () => {
  const namesOf = async (path: string) =>
    [...(await fetch(base + path, { redirect: 'manual' })).headers.keys()].filter((name) =>
      /^(?:strict-transport-security|content-security-policy|referrer-policy|x-content-type-options|x-frame-options)$/.test(
        name,
      ),
    )
  const all = [
    'content-security-policy',
    'referrer-policy',
    'strict-transport-security',
    'x-content-type-options',
    'x-frame-options',
  ]

  it.each([
    '/items/7',
    '/nowhere',
    '/healthz',
    '/fail/conflict',
    '/for-programs?fail',
    '/for-programs?shown',
  ])('include those for pages: %s', async (path) => {
    expect(await namesOf(path)).toEqual(all)
  })

  it('omit those for pages in responses for programs', async () => {
    expect(await namesOf('/for-programs')).toEqual(['strict-transport-security', 'x-content-type-options'])
  })
})

describe('an error', () => {
  it('has the retry time of the management API in its documented field', async () => {
    const response = await fetch(`${base}/managed`)
    expect(await expectError(response, 503)).toEqual({ error: 'STORE_UNAVAILABLE', retryAfterSeconds: 5 })
    expect(response.headers.get('Retry-After')).toBe('5')
  })

  it.each(Object.entries(statuses))('%s is answered with %i', async (code, status) => {
    const response = await fetch(`${base}/fail/${code}`)
    expect(await expectError(response, status)).toEqual({ error: 'what happened', retryAfter: 7, more: [1] })
    expect(response.headers.get('Retry-After')).toBe('7')
    expect(log.lines.some(({ level }) => level === 'error')).toBe(status >= 500)
  })

  it('that is unexpected is logged with the request id, and not shown to the client', async () => {
    const response = await fetch(`${base}/bug`)
    const requestId = response.headers.get('X-Request-Id')
    expect(await expectError(response, 500)).toEqual({ error: 'Internal error' })
    expect(log.lines).toMatchObject([
      { level: 'error', details: { requestId, method: 'GET', err: { message: 'the password is hunter2' } } },
    ])
  })

  it('in a header of the reply is handled like any other', async () => {
    expect(await expectError(await fetch(`${base}/bad-header`), 500)).toEqual({ error: 'Internal error' })
  })

  it('before the first chunk of a stream is handled like any other', async () => {
    expect(await expectError(await fetch(`${base}/none`), 500)).toEqual({ error: 'Internal error' })
    const response = await fetch(`${base}/empty`)
    expect([response.status, await response.text()]).toEqual([200, ''])
    expect(response.headers.get('Content-Type')).toBe('text/plain')
  })

  it('in the middle of a response closes the connection, so that a part is not mistaken for the whole', async () => {
    await expect(fetch(`${base}/half`).then((response) => response.text())).rejects.toThrow()
  })
})

describe('a guarded path', () => {
  it('is allowed with a key that has the scope', async () => {
    const response = await post('/guarded', '{}', { 'X-API-Key': 'writer' })
    expect(await response.json()).toEqual(writer)
    expect(response.headers.get('Cache-Control')).toBe('no-store')
  })

  it('is forbidden without it, always with the same body', async () => {
    const bodies = await Promise.all(
      [{}, { 'X-API-Key': '' }, { 'X-API-Key': 'unknown' }].map(async (headers: Record<string, string>) =>
        expectError(await post('/guarded', '{}', headers), 401),
      ),
    )
    expect(bodies).toEqual(
      Array(3).fill({
        error: 'Missing or invalid API key: send it as X-API-Key or as Authorization: Bearer',
      }),
    )
  })

  it('reports the scope that a key lacks', async () => {
    const body = await expectError(await post('/guarded', '{}', { 'X-API-Key': 'reader' }), 403)
    expect(body).toMatchObject({ requiredScope: 'events:write' })
  })

  it('answers 503 when the key cannot be checked', async () => {
    const response = await post('/guarded', '{}', { 'X-API-Key': 'store away' })
    expect(await expectError(response, 503)).toEqual({ error: 'STORE_UNAVAILABLE', retryAfter: 5 })
    expect(response.headers.get('Retry-After')).toBe('5')
  })

  it.each([
    ['', 401],
    ['reader', 403],
  ])('is answered before the body: key %j', async (key, status) => {
    const headers = { 'X-API-Key': key, 'Content-Type': 'application/json', 'Content-Length': 500 }
    const withheld = request(`${base}/guarded`, { method: 'POST', headers })
    withheld.flushHeaders()
    const [response] = await once(withheld, 'response')
    expect(response.statusCode).toBe(status)
    withheld.destroy()
  })

  it('checks the key before type, size and syntax', async () => {
    await expectError(await post('/guarded', jsonOf(BODY_LIMIT + 1)), 401)
    await expectError(await post('/guarded', '{', { 'Content-Type': 'text/plain' }), 401)
  })
})

describe('an app', () => {
  it('reports liveness and readiness', async () => {
    expect((await fetch(`${base}/healthz`)).status).toBe(200)
    expect((await fetch(`${base}/readyz`)).status).toBe(200)
    ready = false
    const notReady = await fetch(`${base}/readyz`)
    expect(notReady.status).toBe(503)
    expect(await notReady.json()).toMatchObject({ error: 'NOT_READY' })
    expect((await fetch(`${base}/healthz`)).status).toBe(200)
    ready = true
  })

  it('trusts the configured number of proxies, and no client', async () => {
    const response = await fetch(`${base}/address`, {
      headers: { 'X-Forwarded-For': '1.2.3.4, 203.0.113.77' },
    })
    expect(await response.json()).toEqual({ ip: '203.0.113.77' })
  })

  it.each([
    ['203.0.113.77:4711', '203.0.113.77'],
    ['1.2.3.4, [2001:db8::7]:80', '2001:db8::7'],
    ['[::1]', '::1'],
  ])('reads the client behind %s as %s, without its port', async (forwarded, ip) => {
    const response = await fetch(`${base}/address`, { headers: { 'X-Forwarded-For': forwarded } })
    expect(await response.json()).toEqual({ ip })
  })

  it('measures each request once, by route and not by path', async () => {
    const counted = async (): Promise<number> => {
      const found = /duration_seconds_count\{method="get",route="\/items\/{id}",status="200"\} (\d+)/.exec(
        await metrics.metrics(),
      )
      return Number(found?.[1] ?? 0)
    }
    await eventually('earlier requests are counted', async () => (await counted()) > 0)
    const before = await counted()
    await (await fetch(`${base}/items/a-secret`)).text()
    await eventually('it is counted', async () => (await counted()) === before + 1)
    expect(await metrics.metrics()).not.toContain('a-secret')
    expect(await metrics.metrics()).not.toContain('healthz')
  })

  it('counts answers by the class of their status, from 0', async () => {
    const registry = new Registry()
    const own = await listen(
      createHttpApp({
        router: mountRoutes(Router(), routes),
        trustedProxies: 1,
        isReady: () => true,
        log,
        metrics: registry,
      }),
      0,
    )
    for (const digit of [1, 2, 3, 4, 5])
      expect(await registry.metrics()).toContain(`waymark_http_requests_total{class="${digit}xx"} 0\n`)
    await (await fetch(`http://127.0.0.1:${own.port}/items/7`)).text()
    await (await fetch(`http://127.0.0.1:${own.port}/healthz`)).text()
    await eventually('the answer is counted', async () =>
      (await registry.metrics()).includes('waymark_http_requests_total{class="2xx"} 1\n'),
    )
    await own.stop()
  })
})

describe('middleware of Express', () => {
  let own: HttpServer
  let url: string
  beforeAll(async () => {
    const router = Router()
    router.use('/api', (_req, res, next) => {
      res.setHeader('X-Served-By', 'middleware')
      next()
    })
    router.use('/refused', () => {
      throw Object.assign(new Error('no such charset'), { status: 415 })
    })
    router.use('/broken', (_req, _res, next) => next(new Error('the password is hunter2')))
    router.get('/plain', (_req, res) => void res.json({ plain: true }))
    mountRoutes(router, [
      route({ method: 'get', path: '/api/{id}' }, ({ params }) => ({ body: params.id })),
      route({ method: 'get', path: '/other' }, () => ({ body: 'other' })),
    ])
    own = await listen(
      createHttpApp({ router, trustedProxies: 0, isReady: () => true, log, metrics: new Registry() }),
      0,
    )
    url = `http://127.0.0.1:${own.port}`
  })
  afterAll(() => own.stop())

  it('runs before the routes of its path, and no others', async () => {
    const response = await fetch(`${url}/api/7`)
    expect(response.headers.get('X-Served-By')).toBe('middleware')
    expect(await response.json()).toBe('7')
    expect((await fetch(`${url}/other`)).headers.get('X-Served-By')).toBeNull()
  })

  it('may answer by itself', async () => {
    expect(await (await fetch(`${url}/plain`)).json()).toEqual({ plain: true })
  })

  it('has its errors answered as JSON', async () => {
    expect(await expectError(await fetch(`${url}/refused`), 415)).toEqual({ error: 'no such charset' })
    expect(await expectError(await fetch(`${url}/broken`), 500)).toEqual({ error: 'Internal error' })
  })
})
