import { randomBytes } from 'node:crypto'
import { chmod, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { type ServiceName, serviceNames, serviceRole } from '@waymark/database'
import { type AppProcess, COMPILED, endApp, ROOT, startApp } from './app-process.ts'
import { startProcess } from './child-process.ts'
import { executeOnClickHouse } from './clickhouse-database.ts'
import { freePort } from './free-port.ts'
import { requireServices, type Services, services } from './services.ts'
import { copyStandaloneDatabase } from './standalone-database.ts'
import { execute } from './template-database.ts'
import { createTestDatabase } from './test-database.ts'
import { untilAvailable } from './until-available.ts'

export type AppName = ServiceName | 'standalone'

/** All apps of Waymark in their own processes, with a project. */
export type Constellation = {
  apiKey: string
  projectId: string
  /** The folder of sent emails. */
  mailDir: string
  /**
   * Calls the app that serves `path`, with the project's key unless `init` has another. What a busy machine answers 503 is
   * repeated, as clients do.
   */
  request(path: string, init?: RequestInit): Promise<Response>
  /** Kills an app with SIGKILL. */
  kill(app: AppName): Promise<void>
  /** Starts a killed app with the same environment. Standalone keeps its port. */
  restart(app: AppName): Promise<void>
  stop(): Promise<void>
}

type Access = { apiKey: string; projectId: string }
/** How the owner of the demo project signs in. */
type SignIn = { email: string; password: string }

const operate = (
  access: Access,
  running: Map<AppName, AppProcess>,
  start: (app: AppName) => Promise<AppProcess>,
  appFor: (path: string) => AppName,
  cleanUp: () => Promise<void>,
): Omit<Constellation, 'mailDir'> => {
  const find = (app: AppName): AppProcess => {
    const found = running.get(app)
    if (!found) throw new Error(`${app} is not part of this constellation`)
    return found
  }
  return {
    ...access,
    request: (requested, init = {}) => {
      const headers = new Headers(init.headers)
      if (!headers.has('X-API-Key')) headers.set('X-API-Key', access.apiKey)
      const ask = () =>
        fetch(`http://localhost:${find(appFor(requested)).port}${requested}`, { ...init, headers })
      return untilAvailable(ask)
    },
    kill: async (app) => {
      await endApp(find(app), 'SIGKILL')
    },
    restart: async (app) => {
      running.set(app, await start(app))
    },
    stop: async () => {
      await Promise.all([...running.values()].map((app) => endApp(app, 'SIGTERM')))
      await cleanUp()
      for (const [name, app] of running) {
        const refused = /permission denied for \w+ \w+/.exec(app.output())
        if (refused) throw new Error(`PostgreSQL refused ${name} what it needs: ${refused[0]}`)
      }
    },
  }
}

/**
 * Everything in one process on embedded parts, in a fresh data directory, without demo data. Needs no Docker. `more` is
 * added to its environment.
 */
export const startStandalone = async (
  more: Record<string, string> = {},
): Promise<Constellation & SignIn & { port: number }> => {
  const dataDir = await mkdtemp(path.join(tmpdir(), 'waymark-'))
  // As root, the database runs as another user, who must be able to enter the directory.
  await chmod(dataDir, 0o755)
  await copyStandaloneDatabase(path.join(dataDir, 'postgres'))
  // It writes its own address into links and files, so it must know its port before it listens.
  const port = await freePort()
  const start = () =>
    startApp('apps/standalone/src/main.ts', port, {
      WAYMARK_DATA_DIR: dataDir,
      WAYMARK_DEMO_DATA: 'off',
      ...more,
    })
  const running = new Map<AppName, AppProcess>([['standalone', await start()]])
  const text = await readFile(path.join(dataDir, 'demo.json'), 'utf8')
  const { apiKey, projectId, email, password } = JSON.parse(text) as Access & SignIn
  const cleanUp = () => rm(dataDir, { recursive: true, force: true })
  const mailDir = path.join(dataDir, 'mail')
  const operated = operate({ apiKey, projectId }, running, start, () => 'standalone', cleanUp)
  return { ...operated, mailDir, email, password, port }
}

/** A database, topics and a project on real servers, and the environment of apps that use them. */
type DistributedWorld = {
  env: Record<string, string> & {
    DATABASE_URL: string
    KAFKA_TOPIC_PREFIX: string
    CLICKHOUSE_URL: string
    CLICKHOUSE_DATABASE: string
  }
  /** The credentials of a service's database role. */
  credentialsOf(service: ServiceName): { DATABASE_USERNAME: string; DATABASE_PASSWORD: string }
  access: Access
  mailDir: string
  /** Runs the setup again; `root` is the folder of another version. */
  setUp(root?: string): Promise<void>
  cleanUp(): Promise<void>
}

/** Prepares servers for apps with `tools/setup`; `root` is the folder of another version. */
export const prepareDistributed = async (
  { kafkaBrokers, redisUrl, postgresUrl, clickhouseUrl }: Services,
  settings: Record<string, string> = {},
  root = ROOT,
): Promise<DistributedWorld> => {
  // Another server has no template, and another version has other migrations.
  const empty = root !== ROOT || postgresUrl !== services?.postgresUrl
  const database = await createTestDatabase({ empty, postgresUrl })
  const name = `t${randomBytes(5).toString('hex')}`
  const prefix = `${name}.`
  const mailDir = await mkdtemp(path.join(tmpdir(), 'waymark-mail-'))
  const env = {
    DATABASE_URL: database.url,
    REDIS_URL: redisUrl,
    REDIS_KEY_PREFIX: prefix,
    KAFKA_BROKERS: kafkaBrokers.join(','),
    KAFKA_TOPIC_PREFIX: prefix,
    CLICKHOUSE_URL: clickhouseUrl,
    CLICKHOUSE_DATABASE: name,
    // The minimum of brokers, so that they notice a killed consumer early.
    KAFKA_SESSION_TIMEOUT_MS: '6000',
    MAIL_DIR: mailDir,
    MAIL_FROM: 'Waymark <no-reply@localhost>',
    MAIL_SECRET: randomBytes(32).toString('base64url'),
    PUBLIC_URL: 'http://localhost',
    REGISTRATION_MODE: 'open',
    ...settings,
  }
  // A unique prefix, because concurrent tests share the roles of the server.
  const rolePrefix = `test_${randomBytes(5).toString('hex')}_`
  const rolePassword = randomBytes(12).toString('hex')
  const credentialsOf = (service: ServiceName) => ({
    DATABASE_USERNAME: serviceRole(service, rolePrefix),
    DATABASE_PASSWORD: rolePassword,
  })
  const cleanUp = async () => {
    await rm(mailDir, { recursive: true, force: true })
    await database.drop()
    await executeOnClickHouse(clickhouseUrl, `DROP DATABASE IF EXISTS ${name}`)
    const roles = serviceNames.map((service) => serviceRole(service, rolePrefix))
    await execute(postgresUrl, `DROP ROLE IF EXISTS ${roles.join(', ')}`)
  }
  const passwords = serviceNames.map((service) => [
    `SERVICE_ROLE_PASSWORD_${service.toUpperCase().replaceAll('-', '_')}`,
    rolePassword,
  ])
  const setupEnv = { ...env, SERVICE_ROLE_PREFIX: rolePrefix, ...Object.fromEntries(passwords) }
  const { apiKey, projectId } = JSON.parse(await runSetup(setupEnv, root)) as Access
  const setUp = async (root = ROOT): Promise<void> => {
    await runSetup(setupEnv, root)
  }
  return { env, credentialsOf, access: { apiKey, projectId }, mailDir, setUp, cleanUp }
}

/**
 * Starts each app in its own process with its own database role, on the servers that tests share or on given ones.
 * `settings` are added to the environment of each and of the setup, `settingsOf` to that of one app.
 */
export const startDistributed = async (
  servers: Services = requireServices(),
  settings: Record<string, string> = {},
  settingsOf: (app: AppName) => Record<string, string> = () => ({}),
): Promise<Constellation> => {
  const { env, credentialsOf, access, mailDir, cleanUp } = await prepareDistributed(servers, settings)
  const start = (app: AppName) =>
    startApp(`apps/${app}/src/main.ts`, 0, {
      ...env,
      ...(app !== 'standalone' && credentialsOf(app)),
      ...settingsOf(app),
    })
  const started = await Promise.all(serviceNames.map(async (app) => [app, await start(app)] as const))
  return { ...operate(access, new Map(started), start, appFor, cleanUp), mailDir }
}

const SEGMENT_PATH = /^\/(?:v1\/|(?:batch|track|identify|page|screen|group|alias|import)(?:[/?]|$))/

/** Routes like the proxy in front of the services. */
const appFor = (requested: string): AppName => {
  if (requested.startsWith('/s/')) return 'link-redirector'
  if (requested.startsWith('/u/') || requested.startsWith('/webhooks/email/')) return 'email-consumer'
  if (/^\/api\/v1\/(?:coupons|promotions)\//.test(requested)) return 'coupon-service'
  if (requested.startsWith('/api/v1/decide') || requested.startsWith('/ofrep/')) return 'decision-service'
  if (requested.startsWith('/api/v1/') || requested.startsWith('/internal/')) return 'ingest-gateway'
  if (SEGMENT_PATH.test(requested)) return 'ingest-gateway'
  return 'management-api'
}

/** Returns its standard output, which has the access to a new demo project. */
const runSetup = async (env: Record<string, string>, root = ROOT): Promise<string> => {
  const setup = startProcess(process.execPath, [path.join(root, 'tools/setup/src/main.ts')], {
    cwd: root,
    env: { PATH: process.env.PATH, ...COMPILED, ...env, DEMO_BASE_URL: 'http://localhost' },
  })
  const code = await setup.ended
  if (code !== 0) throw new Error(`setup failed with ${code}:\n${setup.output()}`)
  return setup.stdout()
}
