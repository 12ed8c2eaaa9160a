import { archiveConfig, openArchive, runAppWithAnalytics } from '@waymark/service-kit'
import { createPersistenceConsumer } from './app.ts'

await runAppWithAnalytics(
  'persistence-consumer',
  { port: 8083, config: { archive: archiveConfig } },
  async (platform, config, scope) => {
    const archive = await openArchive(config.archive)
    if (archive) scope.onStop('archive', async () => archive.store.close())
    return createPersistenceConsumer(platform, archive)
  },
)
