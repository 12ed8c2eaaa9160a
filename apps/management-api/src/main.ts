import {
  distributedPlatform,
  httpConfig,
  platformConfig,
  readConfig,
  runService,
  startService,
} from '@waymark/service-kit'
import { createManagementApi } from './app.ts'

await runService('management-api', process.env, async (context) => {
  const config = readConfig({ platform: platformConfig, http: httpConfig(8081) }, context.env)
  const platform = await distributedPlatform(config.platform, context)
  await startService(createManagementApi(platform), config.http, platform, context.scope)
})
