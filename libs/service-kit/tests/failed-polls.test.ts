import { createMemoryLog, createTestDatabase, eventually, services } from '@waymark/testing'
import { expect, it, onTestFinished } from 'vitest'
import { createScope, embeddedPlatform, limitsConfig, readConfig, startService } from '../src/index.ts'

const HTTP = { port: 0, metricsPort: 0, trustedProxies: 0 }
const FAILED_POLLS = /waymark_background_failures_total\{loop="config-changes"\} [1-9]/

it.skipIf(!services)('counts failed polls for changes of the configuration, from 0', async () => {
  const database = await createTestDatabase()
  const log = createMemoryLog()
  const scope = createScope(log)
  onTestFinished(async () => {
    await scope.dispose()
    await database.drop()
  })
  const limits = readConfig(limitsConfig, {})
  const platform = await embeddedPlatform({ databaseUrl: database.url, limits }, { name: 'test', log, scope })
  const loops = [{ name: 'own', pauseMs: 60_000, run: async () => 'pause' as const }]
  const { metricsPort } = await startService({ loops }, HTTP, platform, scope)
  const read = async () => (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text()
  for (const loop of ['config-changes', 'api-key-usage', 'own'])
    expect(await read()).toContain(`waymark_background_failures_total{loop="${loop}"} 0\n`)
  await platform.db.pool.query('ALTER TABLE core.config_changes RENAME TO moved')
  await eventually('the failure is counted', async () => FAILED_POLLS.test(await read()))
})
