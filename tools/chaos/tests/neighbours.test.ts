import { setTimeout as sleep } from 'node:timers/promises'
import { type Constellation, eventually, extent, startStandalone } from '@waymark/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type FloodCounts, type FloodOptions, type FloodRequest, startFlood } from './flood.ts'

/** How much slower the requests of a neighbour may become, in ms. */
const MAX_DELAY_MS = 250
/** How long each flood takes, in ms. */
const FLOOD_MS = extent(6_000, 12_000)
/** A flood fills its queues before the measurement begins, for this long in ms. */
const FILL_MS = 1_500
const INGEST_EVERY_MS = 40
const SIGN_IN_EVERY_MS = 500

/** The rate limits of an installation, which tests of one address raise. */
const DEFAULT_LIMITS = {
  LIMIT_REDEEM_PER_MINUTE: '30',
  LIMIT_INGEST_PER_MINUTE: '3000',
  LIMIT_DECIDE_PER_MINUTE: '30',
  LIMIT_PROFILE_PER_MINUTE: '60',
  LIMIT_REGISTER_PER_HOUR: '10',
  LIMIT_SIGN_IN_PER_MINUTE: '20',
  LIMIT_SIGN_IN_FAILURES: '5',
}
/** Requests to ingestion per second and address that these limits allow. */
const INGEST_PER_SECOND = 3_000 / 60

const PASSWORD = 'correct horse battery staple 7'
const EVENTS = extent(10_000, 20_000)
const PROJECTS = extent(60, 150)
const RANGE = { from: '2026-01-01T00:00:00Z', to: '2026-12-31T00:00:00Z' }

type Json = Record<string, unknown>
type Timing = { ingestion: number[]; signIn: number[] }

/** The 99th percentile of durations, in ms. */
const p99 = (durations: number[]): number =>
  durations.toSorted((a, b) => a - b)[Math.ceil(durations.length * 0.99) - 1] ?? 0

describe('a tenant that floods a scarce resource does not delay its neighbours', () => {
  let waymark: Constellation & { port: number; email: string; password: string }
  let flooder: { projects: string[]; pub: string; sec: string; read: string; headers: Record<string, string> }
  let addresses = 0

  const anAddress = (): string => {
    addresses++
    return `10.${addresses >> 16}.${(addresses >> 8) & 255}.${addresses & 255}`
  }

  const send = async (method: string, path: string, body: unknown, headers: Record<string, string>) => {
    const response = await fetch(`http://localhost:${waymark.port}${path}`, {
      method,
      headers: {
        'X-Forwarded-For': anAddress(),
        ...(body !== undefined && { 'Content-Type': 'application/json' }),
        ...headers,
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    return { status: response.status, headers: response.headers, text }
  }
  const made = async (path: string, body: unknown, headers = flooder.headers): Promise<Json> => {
    const { status, text } = await send('POST', path, body, headers)
    expect(status, text).toBeOneOf([200, 201])
    return JSON.parse(text) as Json
  }

  const newKey = async (projectId: string, kind: string, scopes: string[]): Promise<string> => {
    const { key } = await made(`/api/projects/${projectId}/api-keys`, { name: 'Flood', kind, scopes })
    return `${key}`
  }

  beforeAll(async () => {
    waymark = await startStandalone({ ...DEFAULT_LIMITS, TRUSTED_PROXIES: '1', REGISTRATION_MODE: 'open' })
    const account = { email: 'flooder@example.com', password: PASSWORD, name: 'Flooder' }
    const registered = await send('POST', '/api/auth/register', account, {})
    expect(registered.status, registered.text).toBe(201)
    const headers = {
      Cookie: `${registered.headers.getSetCookie()[0]?.split(';')[0]}`,
      Origin: `http://localhost:${waymark.port}`,
    }
    flooder = { projects: [], pub: '', sec: '', read: '', headers }
    for (let n = 0; n < PROJECTS; n++)
      flooder.projects.push(`${(await made('/api/projects', { name: `Flood ${n}` })).id}`)
    const [projectId = ''] = flooder.projects
    flooder.pub = await newKey(projectId, 'pub', ['events:write', 'decide'])
    flooder.sec = await newKey(projectId, 'sec', ['events:write', 'events:backfill'])
    flooder.read = await newKey(projectId, 'sec', ['manage:read'])
    for (let batch = 0; batch < EVENTS / 500; batch++) {
      const events = Array.from({ length: 500 }, (_, n) => ({
        eventName: 'page_view',
        eventId: `past-${batch}-${n}`,
        visitorId: `visitor-${n}`,
        properties: { text: `${'lorem ipsum '.repeat(40)} ${n}`, plan: `plan-${n % 50}`, n },
      }))
      await made('/internal/backfill/events', { events }, { 'X-API-Key': flooder.sec })
    }
  }, 400_000)
  afterAll(async () => {
    await waymark?.stop()
  })

  const timed = async (durations: number[], request: () => ReturnType<typeof send>): Promise<void> => {
    const begunAt = performance.now()
    const { status, text } = await request()
    durations.push(performance.now() - begunAt)
    expect(status, text).toBeOneOf([200, 202])
  }
  /** Sends requests of the neighbour at fixed times, whether or not the earlier ones were answered. */
  const measure = async (): Promise<Timing> => {
    const timing: Timing = { ingestion: [], signIn: [] }
    const probes: Promise<void>[] = []
    const { apiKey, email, password } = waymark
    const ingest = () =>
      send('POST', '/api/v1/t', { eventName: 'neighbour', visitorId: 'n' }, { 'X-API-Key': apiKey })
    const signIn = () => send('POST', '/api/auth/login', { email, password }, {})
    const every = (ms: number, durations: number[], request: () => ReturnType<typeof send>) =>
      setInterval(() => {
        const probe = timed(durations, request)
        probe.catch(() => {})
        probes.push(probe)
      }, ms)
    const timers = [
      every(INGEST_EVERY_MS, timing.ingestion, ingest),
      every(SIGN_IN_EVERY_MS, timing.signIn, signIn),
    ]
    await sleep(FLOOD_MS)
    for (const timer of timers) clearInterval(timer)
    await Promise.all(probes)
    return timing
  }
  const shown = ({ ingestion, signIn }: Timing): string =>
    `ingestion p99 ${Math.round(p99(ingestion))} ms, sign-in p99 ${Math.round(p99(signIn))} ms`

  const expectNoDelay = async (
    name: string,
    floods: Omit<FloodOptions, 'port'>[],
    check: (counts: FloodCounts[]) => void = () => {},
  ): Promise<void> => {
    const alone = await measure()
    const running = floods.map((options) => startFlood({ port: waymark.port, ...options }))
    let flooded: Timing
    let counts: FloodCounts[]
    try {
      await sleep(FILL_MS)
      flooded = await measure()
    } finally {
      counts = await Promise.all(running.map((flood) => flood.stop()))
    }
    const told = `${name}: alone ${shown(alone)}; beside it ${shown(flooded)}; ${JSON.stringify(counts)}`
    check(counts)
    expect.soft(p99(flooded.ingestion) - p99(alone.ingestion), told).toBeLessThan(MAX_DELAY_MS)
    expect.soft(p99(flooded.signIn) - p99(alone.signIn), told).toBeLessThan(MAX_DELAY_MS)
    await eventually(
      'the flood is over',
      async () => (await send('GET', '/healthz', undefined, {})).status === 200,
    )
  }

  const project = (projectId = flooder.projects[0]): string => `/api/projects/${projectId}`
  const asReader = (path: string): FloodRequest => ({ path, headers: { 'X-API-Key': flooder.read } })
  const asUser = (path: string, body?: unknown): FloodRequest => ({
    path,
    headers: flooder.headers,
    ...(body !== undefined && { method: 'POST', body: JSON.stringify(body) }),
  })
  const asPage = (path: string, address: string, body: unknown): FloodRequest => ({
    path,
    method: 'POST',
    headers: { 'X-API-Key': flooder.pub, 'X-Forwarded-For': address },
    body: JSON.stringify(body),
  })

  it('by reading lists with ten filters', async () => {
    const filters = Array.from({ length: 10 }, (_, n) => ({
      property: 'properties.text',
      op: 'contains',
      value: n < 9 ? 'lorem' : 'missing',
    }))
    const query = new URLSearchParams({ filters: JSON.stringify(filters) })
    await expectNoDelay('lists', [{ connections: 60, requests: [asReader(`${project()}/events?${query}`)] }])
  })

  it('by identifying people', async () => {
    const requests = Array.from({ length: 4 }, () =>
      asPage('/api/v1/identify', anAddress(), { visitorId: 'v{n}', userId: 'u{n}', traits: { plan: '{n}' } }),
    )
    await expectNoDelay('identify', [{ connections: 60, perSecond: 4 * INGEST_PER_SECOND, requests }])
  })

  it('by events whose storage is awaited', async () => {
    const requests = Array.from({ length: 4 }, () =>
      asPage('/api/v1/t?sync=1', anAddress(), { eventName: 'page_view', visitorId: 'v{n}' }),
    )
    await expectNoDelay('sync', [{ connections: 60, perSecond: 4 * INGEST_PER_SECOND, requests }])
  })

  it('by passwords of new links', async () => {
    const links = Array.from({ length: 20 }, () => ({
      destination: 'https://shop.example',
      password: PASSWORD,
    }))
    await expectNoDelay('bulk', [
      {
        connections: 30,
        requests: flooder.projects.slice(0, 20).map((id) => asUser(`${project(id)}/links/bulk`, { links })),
      },
    ])
  })

  it('by wrong passwords of its links', async () => {
    const codes: unknown[] = []
    for (let n = 0; n < 20; n++)
      codes.push(
        (await made(`${project()}/links`, { destination: 'https://shop.example', password: PASSWORD })).code,
      )
    const requests = codes.flatMap((code) =>
      Array.from({ length: 10 }, () => ({
        path: `/s/${code}`,
        method: 'POST',
        headers: {
          'Content-Type': 'application/x-www-form-urlencoded',
          'X-Forwarded-For': anAddress(),
        },
        body: 'password=wrong{n}',
      })),
    )
    await expectNoDelay('link passwords', [{ connections: 40, requests }])
  })

  it('by analytics of many projects', async () => {
    const trends = {
      series: [{ eventName: 'page_view', metric: 'people' }],
      interval: 'day',
      breakdown: 'properties.plan',
      ...RANGE,
    }
    const steps = [{ eventName: 'page_view' }, { eventName: 'page_view' }, { eventName: 'page_view' }]
    const floods = [
      {
        connections: 100,
        requests: flooder.projects.flatMap((id) => [
          asUser(`${project(id)}/analytics/trends`, trends),
          asUser(`${project(id)}/analytics/funnel`, { steps, windowSeconds: 86_400, ...RANGE }),
        ]),
      },
      {
        connections: 20,
        requests: [asUser(`${project()}/analytics/funnel`, { steps, windowSeconds: 86_400, ...RANGE })],
      },
    ]
    await expectNoDelay('analytics', floods, (counts) => {
      // Requests that are not valid would be no work.
      for (const count of counts) expect(count).not.toHaveProperty('422')
    })
  })

  it('by QR codes', async () => {
    const { id } = await made(`${project()}/links`, { destination: 'https://shop.example' })
    const query = 'format=png&size=2048'
    await expectNoDelay('QR codes', [
      { connections: 40, requests: [asReader(`${project()}/links/${id}/qr?${query}`)] },
    ])
  })

  it('by exports, read quickly and slowly', async () => {
    const requests = flooder.projects
      .slice(0, 8)
      .flatMap((id) =>
        ['jsonl', 'csv', 'parquet'].map((format) => asUser(`${project(id)}/events/export?format=${format}`)),
      )
    const [, ...others] = requests
    await expectNoDelay('exports', [
      { connections: 20, requests },
      { connections: 20, requests: [...requests.slice(0, 3), ...others], bytesPerSecond: 100_000 },
    ])
  })

  it('by live streams of its events', async () => {
    const requests = flooder.projects.slice(0, 20).map((id) => asUser(`${project(id)}/events/stream`))
    const events = asPage('/api/v1/t', anAddress(), { eventName: 'page_view', visitorId: 'v{n}' })
    await expectNoDelay('streams', [
      { connections: 200, requests: [asUser(`${project()}/events/stream`), ...requests] },
      { connections: 10, perSecond: INGEST_PER_SECOND, requests: [events] },
    ])
  })

  it('by evaluating flags with long conditions', async () => {
    const decision = (n: number) => ({
      key: `flag-${n}`,
      status: 'active',
      variants: [
        { key: 'a', value: true },
        { key: 'b', value: false },
      ],
      fallbackVariant: 'b',
      rules: [
        {
          condition: {
            some: [
              { var: 'context.items' },
              { in: ['q', { cat: Array(20).fill({ var: '../../context.text' }) }] },
            ],
          },
          variant: 'a',
        },
      ],
    })
    for (let n = 0; n < 80; n++) await made(`${project()}/decisions`, decision(n))
    const context = { targetingKey: 'v', items: Array(300).fill(1), text: 'x'.repeat(8_000) }
    const requests = Array.from({ length: 40 }, () =>
      asPage('/ofrep/v1/evaluate/flags', anAddress(), { context }),
    )
    await expectNoDelay('flags', [{ connections: 30, perSecond: 20, requests }])
  })
})
