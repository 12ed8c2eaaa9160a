import {
  distributedPlatform,
  httpConfig,
  platformConfig,
  readConfig,
  runService,
  startService,
} from '@waymark/service-kit'
import { createEnrichmentConsumer } from './app.ts'

await runService('enrichment-consumer', process.env, async (context) => {
  const config = readConfig({ platform: platformConfig, http: httpConfig(8082) }, context.env)
  const platform = await distributedPlatform(config.platform, context)
  await startService(createEnrichmentConsumer(platform), config.http, platform, context.scope)
})
