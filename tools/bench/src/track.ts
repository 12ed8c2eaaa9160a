import { randomUUID } from 'node:crypto'
import { topics } from '@waymark/contracts'
import { ensureEventPartitions, migrate, openDatabase } from '@waymark/database'
import { ensureKafkaTopics } from '@waymark/event-bus'
import { ensureDemoProject } from '@waymark/pipeline'
import { createLog } from '@waymark/service-kit'
import { startKafka, startPostgres, startRedis } from '@waymark/testing/servers'
import type { Benchmark, Side } from './benchmark.ts'

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
    process.env.TESTCONTAINERS_RYUK_DISABLED ??= 'true'
    const [postgres, redis, kafka] = await Promise.all([startPostgres(), startRedis(), startKafka()])
    await migrate(postgres.url)
    const db = openDatabase({ url: postgres.url, poolSize: 2, applicationName: 'bench', onError: () => {} })
    await ensureEventPartitions(db.pool, { now: new Date() })
    const { apiKey } = await ensureDemoProject(db)
    await db.close()
    const log = createLog('bench', 'warn')
    await ensureKafkaTopics(
      { brokers: kafka.brokers, clientId: 'bench' },
      topics,
      { partitions: 12, replication: 1 },
      log,
    )
    const env = {
      DATABASE_URL: postgres.url,
      REDIS_URL: redis.url,
      KAFKA_BROKERS: kafka.brokers.join(','),
      // All of the load comes from one address.
      LIMIT_INGEST_PER_MINUTE: '1000000',
    }
    return {
      ours: {
        entry: 'apps/ingest-gateway/src/main.ts',
        env,
        path: PATH,
        headers: { 'X-API-Key': apiKey },
        body,
      },
      baseline: { entry: 'tools/bench/src/bare-express.ts', env: {}, path: PATH, headers: {}, body },
      dispose: async () => {
        await Promise.all([postgres, redis, kafka].map(({ container }) => container.stop({ timeout: 0 })))
      },
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
