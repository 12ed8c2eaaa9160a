import { createRequire } from 'node:module'

const require = createRequire(import.meta.url)

type Encoder = {
  writeString(text: string | null): Encoder
  writeInt16(value: number): Encoder
  writeInt32(value: number): Encoder
  writeBuffer(bytes: Buffer): Encoder
}
type Partition = { partition: number; messages: { value: unknown }[] }
type ProduceRequest = {
  acks: number
  timeout: number
  topicData: { topic: string; partitions: Partition[] }[]
}
type EncodedRequest = { encode: () => Promise<Encoder> }

const batches = new WeakSet<Buffer>()

/**
 * Patches kafkajs 2.2.4 so that a producer sends batches that are already encoded, each as the value of a partition's
 * only message. Its own encoder groups messages in quadratic time and creates several objects for each.
 */
export const sendEncodedBatches = (): void => {
  const Encoder = require('kafkajs/src/protocol/encoder.js') as new (size: number) => Encoder
  // Later versions of the request build on this one and are loaded with the first request.
  const path = require.resolve('kafkajs/src/protocol/requests/produce/v3/request.js')
  const own = require(path) as (request: ProduceRequest) => EncodedRequest
  const withBatches = (request: ProduceRequest): EncodedRequest => {
    const sent = request.topicData.flatMap(({ partitions }) => partitions.map(batchOf))
    if (sent.some((batch) => batch === undefined)) return own(request)
    return { ...own(request), encode: async () => encode(request, new Encoder(sizeOf(request, sent))) }
  }
  const loaded = require.cache[path]
  if (loaded) loaded.exports = withBatches
}

/** Marks a record batch to be sent unchanged. */
export const asEncoded = (batch: Buffer): Buffer => {
  batches.add(batch)
  return batch
}

const batchOf = ({ messages: [message, ...others] }: Partition): Buffer | undefined => {
  const value = message?.value
  return others.length === 0 && Buffer.isBuffer(value) && batches.has(value) ? value : undefined
}

const sizeOf = ({ topicData }: ProduceRequest, sent: readonly (Buffer | undefined)[]): number =>
  sent.reduce((sum, batch) => sum + 8 + (batch?.length ?? 0), 16) +
  topicData.reduce((sum, { topic }) => sum + 6 + Buffer.byteLength(topic), 0)

const encode = ({ acks, timeout, topicData }: ProduceRequest, encoder: Encoder): Encoder => {
  // No transaction.
  encoder.writeString(null).writeInt16(acks).writeInt32(timeout).writeInt32(topicData.length)
  for (const { topic, partitions } of topicData) {
    encoder.writeString(topic).writeInt32(partitions.length)
    for (const entry of partitions) {
      const batch = batchOf(entry)
      if (batch) encoder.writeInt32(entry.partition).writeInt32(batch.length).writeBuffer(batch)
    }
  }
  return encoder
}

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
