import type { Benchmark } from './benchmark.ts'
import { bareSide, type HttpSide, startHttp } from './http-contender.ts'
import { startServers } from './servers.ts'

const AGENT =
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36'

/**
 * Draws numbers from 1 to `count`, the n-th with probability proportional to 1/n (Zipf with exponent 1, by an
 * approximate inverse).
 */
const zipf = (count: number) => (): number => Math.min(count, Math.floor(count ** Math.random()))

/** `GET /s/{code}` with every click recorded in Kafka, compared with a bare Express that redirects. */
export const redirectBenchmark: Benchmark = {
  name: 'redirect',
  unit: 'requests',
  goal: 0.85,
  atMost: { p99: 2 },
  prepare: async (options) => {
    const { env, dispose } = await startServers(options)
    const { links } = options.stored
    const draw = zipf(links)
    const headers = { 'User-Agent': AGENT }
    const side: HttpSide = {
      entry: 'apps/link-redirector/src/main.ts',
      env,
      path: () => `/s/bench-${draw()}`,
      headers,
      // Measures a redirector with warm caches.
      firstPaths: Array.from({ length: links }, (_, n) => `/s/bench-${n + 1}`),
    }
    return {
      ours: await startHttp(side, options),
      baseline: await startHttp(bareSide(side, headers)),
      dispose,
    }
  },
}
