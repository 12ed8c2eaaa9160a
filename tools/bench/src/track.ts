import type { Benchmark, Options, Prepared } from './benchmark.ts'
import { anEvent } from './events.ts'
import { bareSide, type HttpSide, startHttp } from './http-contender.ts'
import { startServers } from './servers.ts'

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

/** `POST /api/v1/t`, acknowledged by Kafka, compared with a bare Express that echoes the body. */
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
