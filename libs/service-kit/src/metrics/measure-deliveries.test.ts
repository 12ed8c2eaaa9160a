import { Registry } from 'prom-client'
import { expect, it } from 'vitest'
import { measureDeliveries } from './measure-deliveries.ts'

it('counts what the delivery audit found, from zero on', async () => {
  const registry = new Registry()
  const measure = measureDeliveries(registry)
  expect(await registry.metrics()).toContain('waymark_audit_missing_total 0\n')
  measure([
    { outcome: 'stored', seconds: 2, n: 3 },
    { outcome: 'missing', seconds: 0, n: 1 },
    { outcome: 'duplicated', seconds: 0, n: 2 },
    { outcome: 'excused', seconds: 0, n: 4 },
  ])
  const metrics = await registry.metrics()
  expect(metrics).toContain('waymark_audit_checked_total 10\n')
  expect(metrics).toContain('waymark_audit_missing_total 1\n')
  expect(metrics).toContain('waymark_audit_duplicated_total 2\n')
  expect(metrics).toContain('waymark_audit_delay_seconds_bucket{le="1"} 0\n')
  expect(metrics).toContain('waymark_audit_delay_seconds_bucket{le="2"} 3\n')
})
