import { DELIVERY_SECONDS, type OutcomeCount } from '@waymark/pipeline'
import { Histogram, type Registry } from 'prom-client'
import { counterIn } from './counter-in.ts'

/** Returns a function that counts what became of the samples of the delivery audit. */
export const measureDeliveries = (registry: Registry): ((counts: readonly OutcomeCount[]) => void) => {
  const checked = counterIn(registry, {
    name: 'waymark_audit_checked_total',
    help: 'Acknowledged events that were looked up in the stores',
  })
  const missing = counterIn(registry, {
    name: 'waymark_audit_missing_total',
    help: 'Acknowledged events that the stores lack',
  })
  const duplicated = counterIn(registry, {
    name: 'waymark_audit_duplicated_total',
    help: 'Acknowledged events that are stored twice',
  })
  const delay = new Histogram({
    name: 'waymark_audit_delay_seconds',
    help: 'Time from the receipt of an event until it was found in the stores',
    buckets: [...DELIVERY_SECONDS],
    registers: [registry],
  })
  return (counts) => {
    for (const { outcome, seconds, n } of counts) {
      checked.inc(n)
      if (outcome === 'missing') missing.inc(n)
      if (outcome === 'duplicated') duplicated.inc(n)
      if (outcome === 'stored') for (let time = 0; time < n; time++) delay.observe(seconds)
    }
  }
}
