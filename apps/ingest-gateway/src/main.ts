import { runAppWithAnalytics } from '@waymark/service-kit'
import { createIngestGateway } from './app.ts'

await runAppWithAnalytics('ingest-gateway', { port: 8080, config: {} }, createIngestGateway)
