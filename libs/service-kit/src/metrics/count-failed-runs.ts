import type { Registry } from 'prom-client'
import type { Loop } from '../loop.ts'
import { counterIn } from './counter-in.ts'

/** Returns a function that counts the failed runs of a loop. */
export const countFailedRuns = (metrics: Registry) => {
  const failures = counterIn(metrics, {
    name: 'waymark_background_failures_total',
    help: 'Failed runs of background work, by its name',
    labelNames: ['loop'],
  })
  return ({ name: loop }: Loop): (() => void) => {
    // From the start, because Prometheus sees no increase in the first value of a series.
    failures.inc({ loop }, 0)
    return () => failures.inc({ loop })
  }
}
