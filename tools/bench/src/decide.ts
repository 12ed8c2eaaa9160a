import { topics } from '@waymark/contracts'
import { ensureEventPartitions, migrate, openDatabase, type PrismaClient } from '@waymark/database'
import { ensureKafkaTopics } from '@waymark/event-bus'
import { ensureDemoProject } from '@waymark/pipeline'
import { createLog } from '@waymark/service-kit'
import { startKafka, startPostgres, startRedis } from '@waymark/testing/servers'
import { v7 as uuidv7 } from 'uuid'
import type { Benchmark } from './benchmark.ts'

const PATH = '/api/v1/decide'
const DECISIONS = 5
const VISITORS = 2_000

const addDecision = async (prisma: PrismaClient, projectId: string, key: string): Promise<void> => {
  const variants = ['control', 'treatment'].map((name) => ({
    key: name,
    value: { text: name },
    couponPoolId: null,
  }))
  const definition = {
    name: null,
    description: null,
    variants,
    fallbackVariant: 'control',
    rules: [
      {
        id: 'germany',
        description: null,
        condition: {
          and: [{ '==': [{ var: 'context.country' }, 'DE'] }, { '!=': [{ var: 'traits.plan' }, 'pro'] }],
        },
        prerequisites: [],
        rollout: 80,
        variant: null,
        split: variants.map((variant) => ({ variant: variant.key, weight: 1 })),
      },
    ],
    holdout: 5,
    frequencyCap: null,
    schedule: null,
    exclusionGroup: null,
    salt: key,
  }
  await prisma.decision.create({ data: { id: uuidv7(), projectId, key, status: 'active', definition } })
}

/** `POST /api/v1/decide` with five active decisions for 2,000 visitors, beside a bare Express that echoes the body. */
export const decideBenchmark: Benchmark = {
  name: 'decide-five',
  goal: 0.6,
  prepare: async () => {
    process.env.TESTCONTAINERS_RYUK_DISABLED ??= 'true'
    const [postgres, redis, kafka] = await Promise.all([startPostgres(), startRedis(), startKafka()])
    await migrate(postgres.url)
    const db = openDatabase({ url: postgres.url, poolSize: 2, applicationName: 'bench', onError: () => {} })
    await ensureEventPartitions(db.pool, { now: new Date() })
    const { apiKey, projectId } = await ensureDemoProject(db)
    for (let n = 1; n <= DECISIONS; n++) await addDecision(db.prisma, projectId, `decision-${n}`)
    await db.close()
    const kafkaTopics = { partitions: 12, replication: 1 }
    const log = createLog('bench', 'warn')
    await ensureKafkaTopics({ brokers: kafka.brokers, clientId: 'bench' }, topics, kafkaTopics, log)
    const body = Array.from({ length: VISITORS }, (_, n) =>
      JSON.stringify({ visitorId: `visitor-${n}`, context: { country: 'DE', page: '/pricing' } }),
    )
    const env = {
      DATABASE_URL: postgres.url,
      REDIS_URL: redis.url,
      KAFKA_BROKERS: kafka.brokers.join(','),
      // All of the load comes from one address.
      LIMIT_DECIDE_PER_MINUTE: '1000000',
    }
    const headers = { 'X-API-Key': apiKey }
    return {
      ours: { entry: 'apps/decision-service/src/main.ts', env, path: PATH, headers, body },
      baseline: { entry: 'tools/bench/src/bare-express.ts', env: {}, path: PATH, headers: {}, body },
      dispose: async () => {
        await Promise.all([postgres, redis, kafka].map(({ container }) => container.stop({ timeout: 0 })))
      },
    }
  },
}
