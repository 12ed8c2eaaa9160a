import { migrateClickHouse } from '@waymark/analytics/clickhouse'
import { topics } from '@waymark/contracts'
import {
  applyServiceRoles,
  type Database,
  ensureEventPartitions,
  migrate,
  openDatabase,
  requireMigrated,
  type ServiceRolesOptions,
} from '@waymark/database'
import { ensureKafkaTopics } from '@waymark/event-bus'
import { ensureDemoProject, hasDemoProject } from '@waymark/project-config'
import {
  type Config,
  clickhouseOptions,
  databaseUrl,
  kafkaOptions,
  readConfig,
  retryFor,
  runService,
} from '@waymark/service-kit'
import { setupConfig } from './config.ts'
import { createAccount } from './create-account.ts'
import { demoInFile, demoInSecret, isComplete, surroundingCluster } from './demo-store.ts'
import { resetSecondFactor } from './reset-second-factor-queries.ts'
import { readArguments } from './steps.ts'

/** The roles with a password. */
const rolesOptions = ({ prefix, passwords }: Config<typeof setupConfig>['roles']): ServiceRolesOptions => ({
  prefix,
  passwords: Object.fromEntries(Object.entries(passwords).filter(([, password]) => password !== '')),
})

// By default, standard output is only for demo.json.
const env = { ...process.env, LOG_LEVEL: process.env.LOG_LEVEL || 'warn' }

// Runs the named steps, or all except `account` and `reset-second-factor`:
// - `migrate` migrates the stores, sets up the database roles of services, and creates partitions;
// - `topics` creates topics; `demo` creates the demo project; `account` creates an account and prints its credentials;
// - `reset-second-factor` removes the second factor of an account.
// Steps are idempotent, except `account` and `reset-second-factor`. `--new-demo-key` replaces the key and the password of the demo project.
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
    if (!newDemoKey && kept.every(isComplete) && (await hasDemoProject(db))) return
    const demo = `${JSON.stringify({ baseUrl, ...(await ensureDemoProject(db)) }, null, 2)}\n`
    for (const store of stores) await store.write(demo)
    // Logs have more readers than a file or a Secret.
    if (stores.length === 0) process.stdout.write(demo)
  }

  const migrateAnalytics = (): Promise<void> => {
    const { waitMs, cluster } = config.clickhouseTables
    return retryFor(
      () => migrateClickHouse(clickhouseOptions(config.clickhouse), cluster === '' ? {} : { cluster }),
      { ms: waitMs, what: 'ClickHouse', log, signal },
    )
  }

  const url = databaseUrl(config.database)
  if (steps.has('migrate'))
    await retryFor(() => migrate(url, { whileLocked: migrateAnalytics }), {
      ms: config.database.waitMs,
      what: 'the database',
      log,
      signal,
    })
  if (steps.has('topics')) {
    const kafka = { ...kafkaOptions(config.kafka), clientId: 'waymark-setup' }
    const { retentionBytes, ...layout } = config.topics
    const wanted = { ...layout, ...(retentionBytes > 0 && { retentionBytes }) }
    const create = () => ensureKafkaTopics(kafka, topics, wanted, log)
    await retryFor(create, { ms: config.topics.waitMs, what: 'Kafka', log, signal })
  }
  if ([...steps].some((step) => step !== 'topics')) {
    const db = openDatabase({
      url,
      poolSize: 2,
      applicationName: 'waymark-setup',
      onError: (error) => log.warn({ err: error }, 'Idle database connection was lost'),
    })
    scope.onStop('database', () => db.close())
    await retryFor(() => requireMigrated(db.pool), {
      ms: config.database.waitMs,
      what: 'the migrations',
      log,
      signal,
    })
    if (steps.has('migrate')) {
      const roles = await applyServiceRoles(db.pool, rolesOptions(config.roles))
      log.info({ roles }, 'Set up the database roles of services')
    }
    await ensureEventPartitions(db.pool, { now: new Date() })
    if (steps.has('demo') && config.demo.baseUrl !== '') await keepDemo(db)
    if (steps.has('account'))
      process.stdout.write(`${JSON.stringify(await createAccount(db, config.account), null, 2)}\n`)
    if (steps.has('reset-second-factor'))
      process.stdout.write(`${JSON.stringify(await resetSecondFactor(db, config.account.email))}\n`)
  }
  await scope.dispose()
})
