import { createMemoryLog, eventually } from '@waymark/testing/unit'
import { Registry } from 'prom-client'
import { expect, it } from 'vitest'
import { everyMs } from './loop.ts'
import { createScope } from './scope.ts'
import { startService } from './start-service.ts'

const HTTP = { port: 0, metricsPort: 0, trustedProxies: 0 }
const AN_HOUR_MS = 60 * 60 * 1000

it('counts the failed runs of background work, from 0', async () => {
  const log = createMemoryLog()
  const scope = createScope(log)
  const metrics = new Registry()
  const loops = [
    everyMs('healthy', AN_HOUR_MS, async () => {}),
    everyMs('failing', AN_HOUR_MS, async () => {
      throw new Error('no database')
    }),
  ]
  const { metricsPort } = await startService({ loops }, HTTP, { log, metrics, tracer: undefined }, scope)
  const read = async () => (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text()
  await eventually('the failure is counted', async () =>
    (await read()).includes('waymark_background_failures_total{loop="failing"} 1\n'),
  )
  expect(await read()).toContain('waymark_background_failures_total{loop="healthy"} 0\n')
  await scope.dispose()
})
