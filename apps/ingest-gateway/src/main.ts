import {
  distributedPlatform,
  httpConfig,
  platformConfig,
  readConfig,
  runService,
  startService,
} from '@waymark/service-kit'
import { createIngestGateway } from './app.ts'

await runService('ingest-gateway', process.env, async (context) => {
  const config = readConfig({ platform: platformConfig, http: httpConfig(8080) }, context.env)
  const platform = await distributedPlatform(config.platform, context)
  await startService(createIngestGateway(platform), config.http, platform, context.scope)
})
