import { createRequire } from 'node:module'

type Request = { requestTimeout: number; timeoutRequest(): void }
type RequestQueue = {
  pending: unknown[]
  inflight: Map<number, Request>
  enforceRequestTimeout: boolean
  /** The timer that kafkajs clears when the connection ends. */
  requestTimeoutIntervalId: NodeJS.Timeout | undefined
  sendSocketRequest(request: Request): void
  scheduleRequestTimeoutCheck(): void
  scheduleCheckPendingRequests(): void
}

/** When a request has waited for too long, and when a queue is looked at next, in ms by `performance.now()`. */
const dueAt = new WeakMap<Request, number>()
const looksAt = new WeakMap<RequestQueue, number>()

/**
 * Mends two timers of kafkajs 2.2.4, which woke an idle process more often than all that it does. After every answer it
 * schedules a look at the requests that wait to be sent, with a delay that is negative unless the broker throttles, and so
 * looks a thousand times a second for ever, though nothing waits. And for requests that take too long it looks at each
 * connection ten times a second. With this it looks when there is something to send, and when the first request of those
 * that were sent would be due.
 */
export const quietRequestQueue = (): void => {
  const require = createRequire(import.meta.url)
  const { prototype } = require('kafkajs/src/network/requestQueue/index.js') as { prototype: RequestQueue }
  const schedule = prototype.scheduleCheckPendingRequests
  prototype.scheduleCheckPendingRequests = function (this: RequestQueue): void {
    if (this.pending.length > 0) schedule.call(this)
  }
  // Called for each new connection: what was to be looked at was the last one's.
  prototype.scheduleRequestTimeoutCheck = function (this: RequestQueue): void {
    clearTimeout(this.requestTimeoutIntervalId)
    looksAt.delete(this)
  }
  const send = prototype.sendSocketRequest
  prototype.sendSocketRequest = function (this: RequestQueue, request: Request): void {
    const due = performance.now() + request.requestTimeout
    dueAt.set(request, due)
    if (this.enforceRequestTimeout) lookBy(this, due)
    send.call(this, request)
  }
}

const lookBy = (queue: RequestQueue, due: number): void => {
  if (due >= (looksAt.get(queue) ?? Number.POSITIVE_INFINITY)) return
  clearTimeout(queue.requestTimeoutIntervalId)
  looksAt.set(queue, due)
  queue.requestTimeoutIntervalId = setTimeout(() => giveUpDue(queue), due - performance.now())
}

const giveUpDue = (queue: RequestQueue): void => {
  looksAt.delete(queue)
  const now = performance.now()
  for (const request of [...queue.inflight.values()]) {
    const due = dueAt.get(request) ?? now
    if (due <= now) request.timeoutRequest()
    else lookBy(queue, due)
  }
}
