import type { Registry } from 'prom-client'
import { counterIn } from './metrics/counter-in.ts'

/**
 * Counts unhandled rejections of this process, from 0.
 * @returns a function that stops counting
 */
export const countUnhandledRejections = (metrics: Registry): (() => void) => {
  const rejections = counterIn(metrics, {
    name: 'waymark_unhandled_rejections_total',
    help: 'Rejected promises without a handler: faults of the code that the process survived',
  })
  rejections.inc(0)
  const count = (): void => rejections.inc()
  process.on('unhandledRejection', count)
  return () => void process.off('unhandledRejection', count)
}
