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

/** A record batch in place of the value of a message. */
class EncodedBatch {
  readonly bytes: Buffer

  constructor(bytes: Buffer) {
    this.bytes = bytes
  }

  // The encoder of kafkajs calls this for a value that is neither text nor bytes.
  toString(): never {
    throw new Error('kafkajs is not patched and would store a whole batch as one record')
  }
}

const REQUEST_PATH = 'kafkajs/src/protocol/requests/produce/v3/request.js'
/** The version of the request that brokers since Kafka 2.1 are sent. */
const NEWEST_REQUEST_PATH = 'kafkajs/src/protocol/requests/produce/v7/request.js'
const QUEUE_PATH = 'kafkajs/src/network/requestQueue/index.js'
/** The functions that replace those of kafkajs. */
const replacements = new WeakSet<object>()

/**
 * Patches kafkajs 2.2.4 so that a producer sends batches that are already encoded, each as the value of a partition's
 * only message. Its own encoder groups messages in quadratic time and creates several objects for each.
 */
export const sendEncodedBatches = (): void => {
  const Encoder = require('kafkajs/src/protocol/encoder.js') as new (size: number) => Encoder
  // Later versions of the request build on this one and are loaded with the first request.
  const path = require.resolve(REQUEST_PATH)
  const own = require(path) as (request: ProduceRequest) => EncodedRequest
  const withBatches = (request: ProduceRequest): EncodedRequest => {
    const sent = request.topicData.flatMap(({ partitions }) => partitions.map(batchOf))
    if (sent.some((batch) => batch === undefined)) return own(request)
    const encodeBatches = async () => encode(request, new Encoder(sizeOf(request, sent)))
    replacements.add(encodeBatches)
    return { ...own(request), encode: encodeBatches }
  }
  const loaded = require.cache[path]
  if (loaded) loaded.exports = withBatches
}

/** What is known of the kafkajs that this process has loaded. */
export type LoadedKafkajs = {
  version: string
  /** Paths of other copies. */
  copies: string[]
  /** Whether a request to a broker contains batches unchanged. */
  sendsBatches: boolean
  hasPatchedTimers: boolean
}

/** Examines the kafkajs of this process. */
export const loadedKafkajs = (): LoadedKafkajs => {
  const { version } = require('kafkajs/package.json') as { version: string }
  const newest = require(NEWEST_REQUEST_PATH) as (request: ProduceRequest) => EncodedRequest
  const partitions = [{ partition: 0, messages: [{ value: asEncoded(Buffer.alloc(0)) }] }]
  const { encode } = newest({ acks: -1, timeout: 0, topicData: [{ topic: 'probe', partitions }] })
  const queue = require(QUEUE_PATH) as { prototype: RequestQueue }
  const own = require.resolve('kafkajs')
  return {
    version,
    copies: Object.keys(require.cache).filter(
      (path) => /[\\/]kafkajs[\\/]index\.js$/.test(path) && path !== own,
    ),
    sendsBatches: replacements.has(encode),
    hasPatchedTimers: replacements.has(queue.prototype.scheduleRequestTimeoutCheck),
  }
}

/**
 * Refuses to use a kafkajs that the patches do not fit, because it would store a whole batch as one record.
 * @throws Error that says what is wrong
 */
export const requirePatched = ({ version, copies, sendsBatches, hasPatchedTimers }: LoadedKafkajs): void => {
  if (version !== PATCHED_VERSION)
    throw new Error(`kafkajs is version ${version}; its patches are for ${PATCHED_VERSION}`)
  if (copies.length > 0) throw new Error(`kafkajs is loaded more than once: ${copies.join(', ')}`)
  if (!sendsBatches || !hasPatchedTimers)
    throw new Error('kafkajs was used before it was patched; import @waymark/kafka-client first')
}

const PATCHED_VERSION = '2.2.4'

/** A record batch as the value of a message that is sent unchanged. */
export const asEncoded = (batch: Buffer): string =>
  // The types of kafkajs allow text and bytes only, which its own encoder would store as the value of a record.
  new EncodedBatch(batch) as unknown as string

const batchOf = ({ messages: [message, ...others] }: Partition): Buffer | undefined => {
  const value = message?.value
  return others.length === 0 && value instanceof EncodedBatch ? value.bytes : undefined
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
  const { prototype } = require(QUEUE_PATH) as { prototype: RequestQueue }
  const schedule = prototype.scheduleCheckPendingRequests
  prototype.scheduleCheckPendingRequests = function (this: RequestQueue): void {
    if (this.pending.length > 0) schedule.call(this)
  }
  // Called for each new connection. A scheduled check belongs to the previous one.
  prototype.scheduleRequestTimeoutCheck = function (this: RequestQueue): void {
    clearTimeout(this.requestTimeoutIntervalId)
    nextCheckAt.delete(this)
  }
  replacements.add(prototype.scheduleRequestTimeoutCheck)
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
