import { type Config, type ConfigSpec, readConfigs } from './config.ts'
import { openClickHouse } from './event-store.ts'
import { type CorePlatform, distributedPlatform, type Platform } from './platform.ts'
import { httpConfig, platformConfig } from './platform-config.ts'
import { runService } from './run-service.ts'
import type { Scope } from './scope.ts'
import { type Service, startService } from './start-service.ts'
import { clickhouseConfig } from './stores-config.ts'
import { createWaitingServer } from './waiting-server.ts'

type AppOptions<Spec extends ConfigSpec> = {
  /** Default of `PORT`. */
  port: number
  /** Variables of this app, in addition to those of every app. */
  config: Spec
  /** Checks what schemas cannot, before the stores are opened. @throws ConfigError */
  checkConfig?: (config: Config<Spec>) => void
}

type AppConfig<Spec extends ConfigSpec> = Config<Spec> & {
  readonly http: Config<ReturnType<typeof httpConfig>>
}

/** Runs one app in its own process, on Kafka, PostgreSQL and Redis, until it receives a signal. */
export const runApp = <Spec extends ConfigSpec>(
  name: string,
  options: AppOptions<Spec>,
  create: (platform: CorePlatform, config: AppConfig<Spec>, scope: Scope) => Service | Promise<Service>,
): Promise<void> =>
  runWithStores(name, options, {}, (platform, config, _stores, scope) => create(platform, config, scope))

/** Like `runApp`, with ClickHouse in addition. */
export const runAppWithAnalytics = <Spec extends ConfigSpec>(
  name: string,
  options: AppOptions<Spec>,
  create: (platform: Platform, config: AppConfig<Spec>, scope: Scope) => Service | Promise<Service>,
): Promise<void> =>
  runWithStores(
    name,
    options,
    { clickhouse: clickhouseConfig },
    async (platform, config, { clickhouse }, scope) =>
      create({ ...platform, eventStore: await openClickHouse(clickhouse, scope) }, config, scope),
  )

/** Runs an app whose `create` opens further stores, which `storesSpec` configures. */
const runWithStores = <Spec extends ConfigSpec, StoresSpec extends ConfigSpec>(
  name: string,
  { port, config: spec, checkConfig }: AppOptions<Spec>,
  storesSpec: StoresSpec,
  create: (
    platform: CorePlatform,
    config: AppConfig<Spec>,
    stores: Config<StoresSpec>,
    scope: Scope,
  ) => Service | Promise<Service>,
): Promise<void> =>
  runService(name, process.env, async (context) => {
    const common = { platform: platformConfig, http: httpConfig(port) }
    const [own, stores, { platform: settings, http }] = readConfigs([spec, storesSpec, common], context.env)
    checkConfig?.(own)
    const waiting = createWaitingServer(http, context.scope)
    const platform = await distributedPlatform(settings, { ...context, onMigrationsPending: waiting.open })
    await waiting.close()
    const service = await create(platform, { ...own, http }, stores, context.scope)
    await startService(service, http, platform, context.scope)
  })
