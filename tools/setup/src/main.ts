import { topics } from '@waymark/contracts'
import { ensureEventPartitions, migrate, openDatabase } from '@waymark/database'
import { ensureKafkaTopics } from '@waymark/event-bus'
import { ensureDemoProject, hasDemoProject } from '@waymark/pipeline'
import { platformConfig, readConfig, runService, variable } from '@waymark/service-kit'
import { Type } from 'typebox'

const setupConfig = {
  database: platformConfig.database,
  kafka: platformConfig.kafka,
  topics: {
    partitions: variable(
      'KAFKA_PARTITIONS',
      Type.Integer({ minimum: 1, default: 12, description: 'Partitions of each new topic.' }),
    ),
    replication: variable(
      'KAFKA_REPLICATION',
      Type.Integer({ minimum: 1, default: 1, description: 'Replicas of each new topic.' }),
    ),
  },
  demo: {
    baseUrl: variable(
      'DEMO_BASE_URL',
      Type.String({
        default: '',
        description: 'Make the demo project and print its `demo.json` with this address.',
      }),
    ),
  },
} as const

// Unless asked otherwise, standard output is for demo.json.
const env = { ...process.env, LOG_LEVEL: process.env.LOG_LEVEL || 'warn' }

// Migrates the database, makes partitions and topics, and ends. Running it again changes nothing;
// `--new-demo-key` gives the demo project a new key and password in place of the old ones.
await runService('setup', env, async ({ log, scope }) => {
  const config = readConfig(setupConfig, env)
  await migrate(config.database.url)
  const db = openDatabase({
    url: config.database.url,
    poolSize: 2,
    applicationName: 'waymark-setup',
    onError: (error) => log.warn({ err: error }, 'an idle database connection was lost'),
  })
  scope.onStop('database', () => db.close())
  await ensureEventPartitions(db.pool, { now: new Date() })
  await ensureKafkaTopics({ ...config.kafka, clientId: 'waymark-setup' }, topics, config.topics, log)
  const wanted = process.argv.includes('--new-demo-key') || !(await hasDemoProject(db))
  if (config.demo.baseUrl !== '' && wanted) {
    const demo = { baseUrl: config.demo.baseUrl, ...(await ensureDemoProject(db)) }
    process.stdout.write(`${JSON.stringify(demo, null, 2)}\n`)
  }
  await scope.dispose()
})
