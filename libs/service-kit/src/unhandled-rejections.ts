import { AsyncLocalStorage } from 'node:async_hooks'
import type { Registry } from 'prom-client'
import { counterIn } from './metrics/counter-in.ts'

/** Answers the request in whose course a promise was rejected. */
type Fail = (error: unknown) => void

const requests = new AsyncLocalStorage<Fail>()

/** Runs the work of a request. `fail` is called for a rejection that the work does not handle. */
export const failOnRejection = <T>(fail: Fail, work: () => T): T => requests.run(fail, work)

/** Answers the request that an unhandled rejection belongs to, if any. For the handler of `unhandledRejection`. */
export const failRequestOf = (error: unknown): void => requests.getStore()?.(error)

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
