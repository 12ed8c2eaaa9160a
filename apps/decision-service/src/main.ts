import { runApp } from '@waymark/service-kit'
import { createDecisionService } from './app.ts'
import { flagStreamConfig } from './config.ts'

await runApp(
  'decision-service',
  { port: 8087, config: { flagStreams: flagStreamConfig } },
  (platform, { flagStreams }) => createDecisionService(platform, flagStreams),
)
