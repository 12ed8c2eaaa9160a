import {
  distributedPlatform,
  httpConfig,
  platformConfig,
  readConfig,
  runService,
  startService,
} from '@waymark/service-kit'
import { createEmailConsumer } from './app.ts'

await runService('email-consumer', process.env, async (context) => {
  const config = readConfig({ platform: platformConfig, http: httpConfig(8088) }, context.env)
  const platform = await distributedPlatform(config.platform, context)
  await startService(createEmailConsumer(platform), config.http, platform, context.scope)
})
