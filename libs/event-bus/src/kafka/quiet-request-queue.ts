import { createRequire } from 'node:module'

type RequestQueue = { pending: unknown[]; scheduleCheckPendingRequests(): void }

/**
 * Mends a timer of kafkajs 2.2.4: after every answer it schedules a look at the waiting requests, with a delay that
 * is negative unless the broker throttles, and so looks a thousand times a second for ever, on each connection,
 * though nothing waits. With this it only looks while something does.
 */
export const quietRequestQueue = (): void => {
  const require = createRequire(import.meta.url)
  const { prototype } = require('kafkajs/src/network/requestQueue/index.js') as { prototype: RequestQueue }
  const schedule = prototype.scheduleCheckPendingRequests
  prototype.scheduleCheckPendingRequests = function (this: RequestQueue): void {
    if (this.pending.length > 0) schedule.call(this)
  }
}
