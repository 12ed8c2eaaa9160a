import { openClickHouse } from './analytics.ts'
import { type Config, type ConfigSpec, readConfig } from './config.ts'
import { type CorePlatform, distributedPlatform, type Platform } from './platform.ts'
import { httpConfig, platformConfig } from './platform-config.ts'
import { runService } from './run-service.ts'
import type { Scope } from './scope.ts'
import type { Service } from './service.ts'
import { startService } from './start-service.ts'
import { clickhouseConfig } from './stores-config.ts'

/** An app's own variables beside those of every app, for `PORT` its default. */
export type AppOptions<Spec extends ConfigSpec> = {
  port: number
  config?: Spec
  /** Checks what a schema cannot. It runs before the stores are opened. @throws ConfigError */
  checkConfig?: (config: Config<Spec>) => void
}

/** The configuration that an app is created with. */
export type AppConfig<Spec extends ConfigSpec> = Config<Spec> & {
  readonly http: Config<ReturnType<typeof httpConfig>>
}

/** Runs one app as a process of its own, on Kafka, PostgreSQL and Redis, until it gets a signal. */
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
    const platform = await distributedPlatform(stores, context)
    await startService(await create(platform, config, context.scope), config.http, platform, context.scope)
  })

/** Runs one app as `runApp` does, and on ClickHouse as well. */
export const runAppWithAnalytics = <Spec extends ConfigSpec = Record<never, never>>(
  name: string,
  { config, checkConfig, ...options }: AppOptions<Spec>,
  create: (platform: Platform, config: AppConfig<Spec>, scope: Scope) => Service,
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
