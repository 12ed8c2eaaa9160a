import type { Benchmark } from './benchmark.ts'
import { startServers } from './servers.ts'

const LINKS = 100_000
const AGENT =
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36'

const FILL = `
  INSERT INTO link.links (id, project_id, code, destination, tags)
  SELECT gen_random_uuid(), $1, 'bench-' || n, 'https://shop.example/shoes/' || n || '?color=red', '{}'
  FROM generate_series(1, $2::int) AS n`

/** Draws numbers from 1 to `count`, the n-th as often as 1/n (Zipf with exponent 1, by inverting its approximation). */
const zipf = (count: number) => (): number => Math.min(count, Math.floor(count ** Math.random()))

/** `GET /s/{code}` with every click recorded in Kafka, beside a bare Express that redirects. */
export const redirectBenchmarks: readonly Benchmark[] = [
  {
    name: 'redirect',
    goal: 0.85,
    prepare: async () => {
      const { env, dispose } = await startServers((db, projectId) => db.pool.query(FILL, [projectId, LINKS]))
      const draw = zipf(LINKS)
      const request = { path: () => `/s/bench-${draw()}`, headers: { 'User-Agent': AGENT } }
      return {
        ours: { entry: 'apps/link-redirector/src/main.ts', env, ...request },
        baseline: { entry: 'tools/bench/src/bare-express.ts', env: {}, ...request },
        dispose,
      }
    },
  },
]
