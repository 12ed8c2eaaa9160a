import { topics } from '@waymark/contracts'
import {
  type Database,
  ensureEventPartitions,
  migrate,
  openDatabase,
  requireMigrated,
} from '@waymark/database'
import { ensureKafkaTopics } from '@waymark/event-bus'
import { ensureDemoProject, hasDemoProject } from '@waymark/pipeline'
import { databaseUrl, kafkaOptions, readConfig, retryFor, runService } from '@waymark/service-kit'
import { setupConfig } from './config.ts'
import { demoInFile, demoInSecret, surroundingCluster } from './demo-store.ts'
import { readArguments } from './steps.ts'

// Unless asked otherwise, standard output is for demo.json.
const env = { ...process.env, LOG_LEVEL: process.env.LOG_LEVEL || 'warn' }

// Takes the steps that are named, or all: `migrate` the database and make partitions, create `topics`, make the `demo`
// project. Then it ends. Running it again changes nothing; `--new-demo-key` gives the demo project a new key and
// password in place of the old ones.
await runService('setup', env, async ({ log, scope, signal }) => {
  const { steps, newDemoKey } = readArguments(process.argv.slice(2))
  const config = readConfig(setupConfig, env)

  const keepDemo = async (db: Database): Promise<void> => {
    const { baseUrl, file, secret } = config.demo
    const stores = [
      ...(file === '' ? [] : [demoInFile(file)]),
      ...(secret === '' ? [] : [demoInSecret(secret, await surroundingCluster())]),
    ]
    const kept = await Promise.all(stores.map((store) => store.read()))
    if (!newDemoKey && !kept.includes(undefined) && (await hasDemoProject(db))) return
    const demo = `${JSON.stringify({ baseUrl, ...(await ensureDemoProject(db)) }, null, 2)}\n`
    for (const store of stores) await store.write(demo)
    // Logs are read by more people than a file or a Secret.
    if (stores.length === 0) process.stdout.write(demo)
  }

  const url = databaseUrl(config.database)
  if (steps.has('migrate'))
    await retryFor(() => migrate(url), { ms: config.database.waitMs, what: 'the database', log, signal })
  if (steps.has('topics')) {
    const kafka = { ...kafkaOptions(config.kafka), clientId: 'waymark-setup' }
    const create = () => ensureKafkaTopics(kafka, topics, config.topics, log)
    await retryFor(create, { ms: config.topics.waitMs, what: 'Kafka', log, signal })
  }
  if (steps.has('migrate') || steps.has('demo')) {
    const db = openDatabase({
      url,
      poolSize: 2,
      applicationName: 'waymark-setup',
      onError: (error) => log.warn({ err: error }, 'an idle database connection was lost'),
    })
    scope.onStop('database', () => db.close())
    await retryFor(() => requireMigrated(db.pool), {
      ms: config.database.waitMs,
      what: 'the migrations',
      log,
      signal,
    })
    await ensureEventPartitions(db.pool, { now: new Date() })
    if (steps.has('demo') && config.demo.baseUrl !== '') await keepDemo(db)
  }
  await scope.dispose()
})
