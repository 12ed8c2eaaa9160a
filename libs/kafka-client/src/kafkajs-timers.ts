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

/** When a request times out, and when a queue is checked next, in ms by `performance.now()`. */
const dueAt = new WeakMap<Request, number>()
const nextCheckAt = new WeakMap<RequestQueue, number>()

/**
 * Fixes two timers of kafkajs 2.2.4 that keep an idle process busy. After each response it schedules a check of the
 * pending requests with a delay that is negative unless the broker throttles, and so checks a thousand times a second
 * for ever. And it checks each connection for timed-out requests ten times a second. With this patch it checks when
 * there is something to send, and when the first sent request would time out.
 */
export const patchRequestTimers = (): void => {
  const require = createRequire(import.meta.url)
  const { prototype } = require('kafkajs/src/network/requestQueue/index.js') as { prototype: RequestQueue }
  const schedule = prototype.scheduleCheckPendingRequests
  prototype.scheduleCheckPendingRequests = function (this: RequestQueue): void {
    if (this.pending.length > 0) schedule.call(this)
  }
  // Called for each new connection. A scheduled check belongs to the previous one.
  prototype.scheduleRequestTimeoutCheck = function (this: RequestQueue): void {
    clearTimeout(this.requestTimeoutIntervalId)
    nextCheckAt.delete(this)
  }
  const send = prototype.sendSocketRequest
  prototype.sendSocketRequest = function (this: RequestQueue, request: Request): void {
    const due = performance.now() + request.requestTimeout
    dueAt.set(request, due)
    if (this.enforceRequestTimeout) checkBy(this, due)
    send.call(this, request)
  }
}

const checkBy = (queue: RequestQueue, due: number): void => {
  if (due >= (nextCheckAt.get(queue) ?? Number.POSITIVE_INFINITY)) return
  clearTimeout(queue.requestTimeoutIntervalId)
  nextCheckAt.set(queue, due)
  queue.requestTimeoutIntervalId = setTimeout(() => timeOutDueRequests(queue), due - performance.now())
}

const timeOutDueRequests = (queue: RequestQueue): void => {
  nextCheckAt.delete(queue)
  const now = performance.now()
  for (const request of [...queue.inflight.values()]) {
    const due = dueAt.get(request) ?? now
    if (due <= now) request.timeoutRequest()
    else checkBy(queue, due)
  }
}
