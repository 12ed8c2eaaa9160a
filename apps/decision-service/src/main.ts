import { runApp } from '@waymark/service-kit'
import { createDecisionService } from './app.ts'

await runApp('decision-service', { port: 8087 }, createDecisionService)
