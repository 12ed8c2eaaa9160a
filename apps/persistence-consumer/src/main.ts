import { runAppWithAnalytics } from '@waymark/service-kit'
import { createPersistenceConsumer } from './app.ts'

await runAppWithAnalytics('persistence-consumer', { port: 8083 }, createPersistenceConsumer)
