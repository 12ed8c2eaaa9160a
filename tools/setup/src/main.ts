import { topics } from '@waymark/contracts/topics'
import {
  applyServiceRoles,
  type Database,
  hasNewerMigrations,
  migrate,
  openDatabase,
  type ServiceRolesOptions,
} from '@waymark/database'
import { ensureKafkaTopics } from '@waymark/event-bus'
import { migrateClickHouse } from '@waymark/event-store/clickhouse'
import { ensureDemoProject, hasDemoProject } from '@waymark/project-config'
import {
  type Config,
  clickhouseOptions,
  databaseUrl,
  kafkaOptions,
  readConfig,
  retryFor,
  runService,
  waitForMigrations,
} from '@waymark/service-kit'
import { configOf, type setupConfig } from './config.ts'
import { createAccount } from './create-account.ts'
import { demoInFile, demoInSecret, isComplete, surroundingCluster } from './demo-store.ts'
import { rewindGroups, skipRecords } from './move-groups.ts'
import { resetSecondFactor } from './reset-second-factor-queries.ts'
import { readArguments } from './steps.ts'

/** The roles with a password. */
const rolesOptions = ({ prefix, passwords }: Config<typeof setupConfig>['roles']): ServiceRolesOptions => ({
  prefix,
  passwords: Object.fromEntries(Object.entries(passwords).filter(([, password]) => password !== '')),
})

const print = (result: object): void => void process.stdout.write(`${JSON.stringify(result, null, 2)}\n`)

// By default, standard output is only for demo.json.
const env = { ...process.env, LOG_LEVEL: process.env.LOG_LEVEL || 'warn' }

// Runs the named steps, or the first three:
// - `migrate` migrates the stores, sets up the database roles of services, and creates partitions;
// - `topics` creates topics; `demo` creates the demo project; `account` creates an account and prints its credentials;
// - `reset-second-factor` removes the second factor of an account;
// - `rewind` and `skip` set the offsets of consumer groups, after a restore of PostgreSQL.
// The first three are idempotent. `--new-demo-key` replaces the key and the password of the demo project.
await runService('setup', env, async ({ log, scope, signal }) => {
  const { steps, newDemoKey } = readArguments(process.argv.slice(2))
  const config = readConfig(configOf(steps), env)

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

  const { database } = config
  const eventStore = config.clickhouse && clickhouseOptions(config.clickhouse)
  const kafka = config.kafka && { ...kafkaOptions(config.kafka), clientId: 'waymark-setup' }
  const url = database && databaseUrl(database)

  if (steps.has('migrate') && database && url && eventStore) {
    const migrateAnalytics = (): Promise<void> => {
      const { waitMs, cluster } = config.clickhouseTables
      const run = () => migrateClickHouse(eventStore, cluster === '' ? {} : { cluster })
      return retryFor(run, { ms: waitMs, what: 'ClickHouse', log, signal })
    }
    const migrateStores = (): Promise<string[]> =>
      migrate(url, {
        log: (line) => log.info({}, line),
        // It may wait for long, so that the operator has to see why.
        warn: (line) => log.warn({}, line),
        whileLocked: migrateAnalytics,
        signal,
      })
    await retryFor(migrateStores, { ms: database.waitMs, what: 'the database', log, signal })
  }
  if (steps.has('topics') && kafka) {
    const { retentionBytes, ...layout } = config.topics
    const wanted = { ...layout, ...(retentionBytes > 0 && { retentionBytes }) }
    const create = () => ensureKafkaTopics(kafka, topics, wanted, log)
    await retryFor(create, { ms: config.topics.waitMs, what: 'Kafka', log, signal })
  }
  if (steps.has('rewind') && kafka) print(await rewindGroups(kafka, config.groups.rewindTo, log))
  if (steps.has('skip') && kafka) print(await skipRecords(kafka, config.groups.skipped, log))
  if (database && url) {
    const db = openDatabase({
      url,
      poolSize: 2,
      applicationName: 'waymark-setup',
      onError: (error) => log.warn({ err: error }, 'Idle database connection was lost'),
    })
    scope.onStop('database', () => db.close())
    await waitForMigrations(db.pool, { ms: database.waitMs, log, signal })
    if (steps.has('migrate') && (await hasNewerMigrations(db.pool))) {
      // They may lack what services of that version use.
      log.warn({}, 'A newer version has migrated the database; its database roles stay as they are')
    } else if (steps.has('migrate')) {
      const roles = await applyServiceRoles(db.pool, rolesOptions(config.roles))
      log.info({ roles }, 'Set up the database roles of services')
    }
    if (steps.has('demo') && config.demo.baseUrl !== '') await keepDemo(db)
    if (steps.has('account')) print(await createAccount(db, config.account))
    if (steps.has('reset-second-factor')) print(await resetSecondFactor(db, config.account.email))
  }
  await scope.dispose()
})
