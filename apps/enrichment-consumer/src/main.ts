import { runApp } from '@waymark/service-kit'
import { createEnrichmentConsumer } from './app.ts'

await runApp('enrichment-consumer', { port: 8082, config: {} }, createEnrichmentConsumer)
