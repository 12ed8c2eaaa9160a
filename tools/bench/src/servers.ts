import { topics } from '@waymark/contracts/topics'
import type { Database } from '@waymark/database'
import { ensureKafkaTopics } from '@waymark/event-bus'
import { migrateClickHouse } from '@waymark/event-store/clickhouse'
import { clickhouseConfig, clickhouseOptions, createLog, readConfig } from '@waymark/service-kit'
import { startClickHouse, startKafka, startRedis, startTogether } from '@waymark/testing/servers'
import type { StartedTestContainer } from 'testcontainers'
import type { Options } from './benchmark.ts'
import { addressOf } from './container-address.ts'
import { pinContainers } from './cores.ts'
import { warmKafka } from './warm-kafka.ts'

/** Real servers with a project, and the environment of apps that use them. */
export type Servers = {
  env: Record<string, string>
  apiKey: string
  projectId: string
  /** With a pool of a few connections. */
  db: Database
  postgres: { container: StartedTestContainer; database: string }
  brokers: string[]
  dispose: () => Promise<void>
}

const PARTITIONS = 12
const WARM_UP_S = 30
const WARM_UP_QUICK_S = 5

/** Starts Kafka, Redis and ClickHouse for one benchmark, with a copy of the filled database. */
export const startServers = async (options: Pick<Options, 'postgres' | 'quick'>): Promise<Servers> => {
  const { container: postgres, apiKey, projectId, copy } = await options.postgres()
  const database = await copy()
  const [redis, kafka, clickhouse] = await startTogether(
    startRedis(),
    // Without the flags of tests, because a broker under load needs optimized code.
    startKafka({ direct: true, settings: { KAFKA_HEAP_OPTS: '-Xms256m -Xmx512m' } }),
    startClickHouse(),
  ).catch(async (error) => {
    await database.drop()
    throw error
  })
  const containers = [redis, kafka, clickhouse].map(({ container }) => container)
  const { username, password } = new URL(clickhouse.url)
  const clickhouseUrl = `http://${username}:${password}@${addressOf(clickhouse.container, 8123)}`
  const clickhouseAt = clickhouseOptions(readConfig(clickhouseConfig, { CLICKHOUSE_URL: clickhouseUrl }))
  const dispose = async (): Promise<void> => {
    await database.drop()
    await Promise.all(containers.map((container) => container.stop({ timeout: 0 })))
  }
  const prepare = async (): Promise<void> => {
    pinContainers(containers.map((container) => container.getId()))
    await migrateClickHouse(clickhouseAt)
    await ensureKafkaTopics(
      { brokers: kafka.brokers, clientId: 'bench' },
      topics,
      { partitions: PARTITIONS, replication: 1 },
      createLog('bench', 'warn'),
    )
    await warmKafka(kafka.brokers, PARTITIONS, options.quick ? WARM_UP_QUICK_S : WARM_UP_S)
  }
  await prepare().catch(async (error) => {
    await dispose()
    throw error
  })
  return {
    env: {
      DATABASE_URL: database.url,
      REDIS_URL: `redis://${addressOf(redis.container, 6379)}`,
      KAFKA_BROKERS: kafka.brokers.join(','),
      CLICKHOUSE_URL: clickhouseUrl,
      CLICKHOUSE_DATABASE: clickhouseAt.database,
      // All requests come from one address.
      LIMIT_INGEST_PER_MINUTE: '100000000',
      LIMIT_DECIDE_PER_MINUTE: '100000000',
      LIMIT_REDEEM_PER_MINUTE: '100000000',
    },
    apiKey,
    projectId,
    db: database.db,
    postgres: { container: postgres, database: database.name },
    brokers: kafka.brokers,
    dispose,
  }
}
