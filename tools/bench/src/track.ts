import { randomUUID } from 'node:crypto'
import type { Benchmark, Side } from './benchmark.ts'
import { startServers } from './servers.ts'

const PATH = '/api/v1/t'

const anEvent = () => ({
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
  (body: string) => async (): Promise<{ ours: Side; baseline: Side; dispose: () => Promise<void> }> => {
    const { env, apiKey, dispose } = await startServers()
    return {
      ours: {
        entry: 'apps/ingest-gateway/src/main.ts',
        // All of the load comes from one address.
        env: { ...env, LIMIT_INGEST_PER_MINUTE: '1000000' },
        path: PATH,
        headers: { 'X-API-Key': apiKey },
        body,
      },
      baseline: { entry: 'tools/bench/src/bare-express.ts', env: {}, path: PATH, headers: {}, body },
      dispose,
    }
  }

/** `POST /api/v1/t`, acknowledged by Kafka, beside a bare Express that echoes the body. */
export const trackBenchmarks: readonly Benchmark[] = [
  { name: 'track-one', goal: 0.6, prepare: prepareWith(JSON.stringify(anEvent())) },
  {
    name: 'track-hundred',
    goal: 0.5,
    prepare: prepareWith(JSON.stringify({ events: Array.from({ length: 100 }, anEvent) })),
  },
]
