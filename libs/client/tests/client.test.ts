import { CLOSED_PORT, type Constellation, eventually, startStandalone } from '@waymark/testing'
import { afterAll, beforeAll, expect, expectTypeOf, it } from 'vitest'
import {
  ApiError,
  type Client,
  ConnectionError,
  createClient,
  createTracker,
  isApiError,
} from '../src/index.ts'

let waymark: Constellation
let client: Client
let project: { projectId: string }

/** Sends the requests of a client to the server of this file. */
const toServer = async (request: Request): Promise<Response> => {
  const { pathname, search } = new URL(request.url)
  const body = request.body === null ? {} : { body: await request.text() }
  return waymark.request(pathname + search, {
    method: request.method,
    // Over the key that it adds otherwise.
    headers: { ...Object.fromEntries(request.headers), 'X-API-Key': '' },
    ...body,
  })
}
const connect = (token: string) => createClient({ baseUrl: 'http://waymark.test', token, fetch: toServer })

beforeAll(async () => {
  waymark = await startStandalone()
  client = connect(waymark.apiKey)
  project = { projectId: waymark.projectId }
})
afterAll(() => waymark?.stop())

it('sends events, which get an id', async () => {
  const result = await client.post('/api/v1/t', {
    body: { eventName: 'sent_by_client', visitorId: 'visitor-1', properties: { total: 4_990 } },
    params: { query: { sync: '1' } },
  })
  expect(result).toMatchObject({ accepted: 1, processed: true })
  const { data } = await client.get('/api/projects/{projectId}/events', {
    params: { path: project, query: { eventName: 'sent_by_client' } },
  })
  expect(data).toMatchObject([
    { properties: { total: 4_990 }, eventId: expect.stringMatching(/^[\da-f-]{36}$/) },
  ])
})

it('sends events of a catalog, whose properties are typed', async () => {
  type Events = { typed_event: { total: number } }
  const track = createTracker<Events>(client)
  await track('typed_event', { total: 1 }, { userId: 'ann' })
  // @ts-expect-error: the property is misspelled
  const misspelled = () => track('typed_event', { totl: 1 }, { userId: 'ann' })
  expectTypeOf(misspelled).toBeFunction()
  await eventually('the event is stored', async () => {
    const { data } = await client.get('/api/projects/{projectId}/events', {
      params: { path: project, query: { eventName: 'typed_event' } },
    })
    return data.length === 1
  })
})

it('reads a list page by page', async () => {
  const names = ['one', 'two', 'three'].map((name) => `Segment ${name}`)
  for (const [index, name] of names.entries())
    await client.post('/api/projects/{projectId}/segments', {
      params: { path: project },
      body: {
        key: `segment-${index}`,
        name,
        condition: { filters: [{ property: 'traits.plan', op: 'eq', value: 'pro' }] },
      },
    })
  const found: string[] = []
  for await (const segment of client.list('/api/projects/{projectId}/segments', {
    params: { path: project, query: { limit: 1 } },
  })) {
    expectTypeOf(segment.name).toEqualTypeOf<string>()
    found.push(segment.name)
  }
  expect(found).toEqual(names.toReversed())
})

it('throws errors with what the API says of them', async () => {
  const error = await client
    .post('/api/projects/{projectId}/links', { params: { path: project }, body: { destination: 'nowhere' } })
    .catch((thrown: unknown) => thrown)
  expect(error).toBeInstanceOf(ApiError)
  expect(error).toMatchObject({
    status: 422,
    operation: 'POST /api/projects/{projectId}/links',
    problems: [{ field: 'destination' }],
    requestId: expect.stringMatching(/^[\da-f-]{36}$/),
  })
  await expect(connect('wm_pat_unknown').get('/api/auth/me')).rejects.toMatchObject({ status: 401 })
})

it('types the JSON of an error by operation and status', async () => {
  const error = await client
    .post('/api/v1/coupons/redeem', { body: { code: 'UNKNOWN', userId: 'ann' } })
    .catch((thrown: unknown) => thrown)
  expect(isApiError(error, 'post', '/api/v1/coupons/redeem', 404)).toBe(true)
  expect(isApiError(error, 'post', '/api/v1/coupons/redeem', 409)).toBe(false)
  expect(isApiError(error, 'post', '/api/v1/coupons/validate', 404)).toBe(false)
  if (isApiError(error, 'post', '/api/v1/coupons/redeem', 409))
    expectTypeOf(error.body.reason).toExtend<string>()
})

it('gives a repeated redemption the answer of the first one', async () => {
  const pool = await client.post('/api/projects/{projectId}/coupon-pools', {
    params: { path: project },
    body: {
      name: 'Once',
      kind: 'shared',
      code: 'ONCE',
      maxRedemptions: 1,
      discount: { type: 'percent', value: 10 },
    },
  })
  expect(pool.status).toBe('ready')
  let answers = 0
  // The first answer is lost on its way.
  const losing = createClient({
    baseUrl: 'http://waymark.test',
    token: waymark.apiKey,
    retry: { wait: async () => undefined },
    fetch: async (request) => {
      const response = await toServer(request)
      answers++
      if (answers === 1) throw new TypeError('fetch failed')
      return response
    },
  })
  const redeemed = await losing.post('/api/v1/coupons/redeem', { body: { code: 'ONCE', userId: 'ann' } })
  expect(redeemed).toMatchObject({ coupon: { code: 'ONCE' } })
  expect(answers).toBe(2)
})

it('names the address when there is no answer', async () => {
  const lost = createClient({
    baseUrl: `http://127.0.0.1:${CLOSED_PORT}/`,
    token: 'wm_pat_any',
    retry: { attempts: 1, wait: async () => undefined },
  })
  const error = await lost.get('/api/auth/me').catch((thrown: unknown) => thrown)
  expect(error).toBeInstanceOf(ConnectionError)
  expect((error as Error).message).toBe(
    `GET /api/auth/me: no answer from http://127.0.0.1:${CLOSED_PORT} (ECONNREFUSED)`,
  )
})
