import {
  distributedPlatform,
  httpConfig,
  platformConfig,
  readConfig,
  runService,
  startService,
} from '@waymark/service-kit'
import { createDecisionService } from './app.ts'

await runService('decision-service', process.env, async (context) => {
  const config = readConfig({ platform: platformConfig, http: httpConfig(8087) }, context.env)
  const platform = await distributedPlatform(config.platform, context)
  await startService(createDecisionService(platform), config.http, platform, context.scope)
})
