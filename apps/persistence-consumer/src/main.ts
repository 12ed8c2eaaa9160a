import {
  distributedPlatform,
  httpConfig,
  platformConfig,
  readConfig,
  runService,
  startService,
} from '@waymark/service-kit'
import { createPersistenceConsumer } from './app.ts'

await runService('persistence-consumer', process.env, async (context) => {
  const config = readConfig({ platform: platformConfig, http: httpConfig(8083) }, context.env)
  const platform = await distributedPlatform(config.platform, context)
  await startService(createPersistenceConsumer(platform), config.http, platform, context.scope)
})
