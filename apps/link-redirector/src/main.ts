import {
  distributedPlatform,
  httpConfig,
  platformConfig,
  readConfig,
  runService,
  startService,
} from '@waymark/service-kit'
import { createLinkRedirector } from './app.ts'

await runService('link-redirector', process.env, async (context) => {
  const config = readConfig({ platform: platformConfig, http: httpConfig(8085) }, context.env)
  const platform = await distributedPlatform(config.platform, context)
  await startService(createLinkRedirector(platform), config.http, platform, context.scope)
})
