import type { TestProject } from 'vitest/node'
import { startClickHouse, startKafka, startPostgres, startRedis, startTogether } from './containers.ts'
import { dockerAnswers } from './needs-containers.ts'
import { makeTemplate } from './template-database.ts'
import { removeAbandonedContainers } from './test-run.ts'

/** Starts the servers that integration tests share, once per run. Without Docker these tests are skipped. */
export const setup = async (project: TestProject): Promise<(() => Promise<void>) | undefined> => {
  if (!dockerAnswers()) {
    if (process.env.CI) throw new Error('Docker does not answer, and in CI no test may be left out')
    process.stdout.write(
      'Docker does not answer: tests on Kafka, PostgreSQL, Redis and ClickHouse are left out.\n',
    )
    project.provide('services', null)
    return undefined
  }
  // The containers are stopped below, and the image of Testcontainers' reaper may not be available.
  process.env.TESTCONTAINERS_RYUK_DISABLED ??= 'true'
  removeAbandonedContainers()
  const [postgres, redis, kafka, clickhouse] = await startTogether(
    startPostgres(),
    startRedis(),
    startKafka(),
    startClickHouse(),
  )
  const stop = async () => {
    await Promise.all(
      [postgres, redis, kafka, clickhouse].map(({ container }) => container.stop({ timeout: 0 })),
    )
  }
  await makeTemplate(postgres.url).catch(async (error) => {
    await stop()
    throw error
  })
  project.provide('services', {
    postgresUrl: postgres.url,
    redisUrl: redis.url,
    kafkaBrokers: kafka.brokers,
    clickhouseUrl: clickhouse.url,
  })
  return stop
}
