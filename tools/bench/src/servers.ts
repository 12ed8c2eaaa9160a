import { topics } from '@waymark/contracts'
import { type Database, ensureEventPartitions, migrate, openDatabase } from '@waymark/database'
import { ensureKafkaTopics } from '@waymark/event-bus'
import { ensureDemoProject } from '@waymark/pipeline'
import { createLog } from '@waymark/service-kit'
import { startKafka, startPostgres, startRedis } from '@waymark/testing/servers'
import type { StartedTestContainer } from 'testcontainers'
import type { Options } from './benchmark.ts'
import { pinContainers } from './cores.ts'
import { fillStores } from './fill-stores.ts'

/** Real servers with a project on them, and the environment that leads an app to them. */
export type Servers = {
  env: Record<string, string>
  apiKey: string
  projectId: string
  /** With a pool of a few connections. */
  db: Database
  postgres: StartedTestContainer
  brokers: string[]
  dispose: () => Promise<void>
}

const PARTITIONS = 12

/** Starts Kafka, PostgreSQL and Redis, with a project whose catalog knows the events, and as much stored as is asked for. */
export const startServers = async ({ stored }: Pick<Options, 'stored'>): Promise<Servers> => {
  process.env.TESTCONTAINERS_RYUK_DISABLED ??= 'true'
  const [postgres, redis, kafka] = await Promise.all([startPostgres(), startRedis(), startKafka()])
  const containers = [postgres, redis, kafka].map(({ container }) => container)
  pinContainers(containers.map((container) => container.getId()))
  await migrate(postgres.url)
  // Millions of rows take longer to store than any service may.
  const limits = { poolSize: 4, statementTimeoutMs: 0 }
  const db = openDatabase({ url: postgres.url, applicationName: 'bench', onError: () => {}, ...limits })
  const dispose = async (): Promise<void> => {
    await db.close()
    await Promise.all(containers.map((container) => container.stop({ timeout: 0 })))
  }
  await ensureEventPartitions(db.pool, { now: new Date() })
  const { apiKey, projectId } = await ensureDemoProject(db)
  await fillStores(db, projectId, stored)
  await ensureKafkaTopics(
    { brokers: kafka.brokers, clientId: 'bench' },
    topics,
    { partitions: PARTITIONS, replication: 1 },
    createLog('bench', 'warn'),
  )
  return {
    env: {
      DATABASE_URL: postgres.url,
      REDIS_URL: redis.url,
      KAFKA_BROKERS: kafka.brokers.join(','),
      // All of the load comes from one address.
      LIMIT_INGEST_PER_MINUTE: '1000000',
      LIMIT_DECIDE_PER_MINUTE: '1000000',
      LIMIT_REDEEM_PER_MINUTE: '1000000',
    },
    apiKey,
    projectId,
    db,
    postgres: postgres.container,
    brokers: kafka.brokers,
    dispose,
  }
}
