import { openClickHouse } from './analytics.ts'
import { type Config, type ConfigSpec, readConfig } from './config.ts'
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
  config?: Spec
  /** Checks what schemas cannot, before the stores are opened. @throws ConfigError */
  checkConfig?: (config: Config<Spec>) => void
}

type AppConfig<Spec extends ConfigSpec> = Config<Spec> & {
  readonly http: Config<ReturnType<typeof httpConfig>>
}

/** Runs one app in its own process, on Kafka, PostgreSQL and Redis, until it receives a signal. */
export const runApp = <Spec extends ConfigSpec = Record<never, never>>(
  name: string,
  { port, config: spec, checkConfig }: AppOptions<Spec>,
  create: (platform: CorePlatform, config: AppConfig<Spec>, scope: Scope) => Service | Promise<Service>,
): Promise<void> =>
  runService(name, process.env, async (context) => {
    const { platform: stores, ...rest } = readConfig(
      { ...spec, platform: platformConfig, http: httpConfig(port) },
      context.env,
    )
    const config = rest as unknown as AppConfig<Spec>
    checkConfig?.(config)
    const waiting = createWaitingServer(config.http, context.scope)
    const platform = await distributedPlatform(stores, { ...context, onMigrationsPending: waiting.open })
    await waiting.close()
    await startService(await create(platform, config, context.scope), config.http, platform, context.scope)
  })

/** Like `runApp`, with ClickHouse in addition. */
export const runAppWithAnalytics = <Spec extends ConfigSpec = Record<never, never>>(
  name: string,
  { config, checkConfig, ...options }: AppOptions<Spec>,
  create: (platform: Platform, config: AppConfig<Spec>, scope: Scope) => Service | Promise<Service>,
): Promise<void> => {
  const withClickHouse = { ...config, clickhouse: clickhouseConfig }
  return runApp(
    name,
    {
      ...options,
      config: withClickHouse,
      checkConfig: (read) => checkConfig?.(read as unknown as Config<Spec>),
    },
    async (platform, read, scope) => {
      const own = read as unknown as AppConfig<Spec> & { clickhouse: Config<typeof clickhouseConfig> }
      return create({ ...platform, analytics: await openClickHouse(own.clickhouse, scope) }, own, scope)
    },
  )
}
