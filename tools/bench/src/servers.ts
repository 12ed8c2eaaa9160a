import { topics } from '@waymark/contracts'
import { type Database, ensureEventPartitions, migrate, openDatabase } from '@waymark/database'
import { ensureKafkaTopics } from '@waymark/event-bus'
import { ensureDemoProject } from '@waymark/pipeline'
import { createLog } from '@waymark/service-kit'
import { startKafka, startPostgres, startRedis } from '@waymark/testing/servers'

/** Real servers with a project on them, and the environment that leads an app to them. */
export type Servers = { env: Record<string, string>; apiKey: string; dispose: () => Promise<void> }

/** Starts Kafka, PostgreSQL and Redis; `fill` puts into the database what a benchmark needs. */
export const startServers = async (
  fill: (db: Database, projectId: string) => Promise<unknown> = async () => {},
): Promise<Servers> => {
  process.env.TESTCONTAINERS_RYUK_DISABLED ??= 'true'
  const [postgres, redis, kafka] = await Promise.all([startPostgres(), startRedis(), startKafka()])
  await migrate(postgres.url)
  const db = openDatabase({ url: postgres.url, poolSize: 2, applicationName: 'bench', onError: () => {} })
  await ensureEventPartitions(db.pool, { now: new Date() })
  const { apiKey, projectId } = await ensureDemoProject(db)
  await fill(db, projectId)
  await db.close()
  await ensureKafkaTopics(
    { brokers: kafka.brokers, clientId: 'bench' },
    topics,
    { partitions: 12, replication: 1 },
    createLog('bench', 'warn'),
  )
  return {
    env: {
      DATABASE_URL: postgres.url,
      REDIS_URL: redis.url,
      KAFKA_BROKERS: kafka.brokers.join(','),
    },
    apiKey,
    dispose: async () => {
      await Promise.all([postgres, redis, kafka].map(({ container }) => container.stop({ timeout: 0 })))
    },
  }
}
