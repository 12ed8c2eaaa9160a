import { randomUUID } from 'node:crypto'
import type { Benchmark, Options, Prepared } from './benchmark.ts'
import { bareSide, type HttpSide, startHttp } from './http-contender.ts'
import { startServers } from './servers.ts'

/** An event as a shop sends it. */
export const anEvent = () => ({
  eventName: 'page_view',
  visitorId: `visitor-${randomUUID()}`,
  sessionId: 'session-1',
  properties: {
    url: 'https://shop.example/shoes/red?utm_source=news',
    referrer: 'https://www.google.com/',
    title: 'Red shoes',
    price: 4990,
    currency: 'EUR',
  },
})

const prepareWith =
  (body: string) =>
  async (options: Options): Promise<Prepared> => {
    const { env, apiKey, dispose } = await startServers(options)
    const side: HttpSide = {
      entry: 'apps/ingest-gateway/src/main.ts',
      env,
      path: '/api/v1/t',
      headers: { 'X-API-Key': apiKey },
      body,
    }
    return { ours: await startHttp(side, options), baseline: await startHttp(bareSide(side)), dispose }
  }

/** `POST /api/v1/t`, acknowledged by Kafka, beside a bare Express that echoes the body. */
export const trackBenchmarks: readonly Benchmark[] = [
  {
    name: 'track-one',
    unit: 'requests',
    goal: 0.6,
    atMost: { cpu: 1.6 },
    prepare: prepareWith(JSON.stringify(anEvent())),
  },
  {
    name: 'track-hundred',
    unit: 'requests',
    goal: 0.5,
    prepare: prepareWith(JSON.stringify({ events: Array.from({ length: 100 }, anEvent) })),
  },
]
