import {
  distributedPlatform,
  httpConfig,
  platformConfig,
  readConfig,
  runService,
  startService,
} from '@waymark/service-kit'
import { createManagementApi } from './app.ts'
import { shortLinkConfig } from './config.ts'

await runService('management-api', process.env, async (context) => {
  const config = readConfig(
    { platform: platformConfig, http: httpConfig(8081), shortLinks: shortLinkConfig },
    context.env,
  )
  const platform = await distributedPlatform(config.platform, context)
  await startService(
    createManagementApi(platform, { shortLinkBaseUrl: config.shortLinks.baseUrl }),
    config.http,
    platform,
    context.scope,
  )
})
