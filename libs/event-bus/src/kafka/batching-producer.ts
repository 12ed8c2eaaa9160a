import type { Log } from '@waymark/contracts'
import type { RecordMetadata } from 'kafkajs'
import { keyBytesOf } from '../partitioner.ts'
import { BusUnavailableError, type SerializedRecord } from '../port.ts'

/** What records of one partition are gathered in. */
export type Batch = {
  /** Whether the record was added: false when there is no room for it beside the others. `key` holds others afterwards. */
  append(key: Uint8Array, record: SerializedRecord): boolean
  /** Called once it is stored: nobody needs it any more. */
  release(): void
}
export type PartitionBatch<B> = { partition: number; batch: B }

/** Sends batches, each of another partition that `leader` leads, once, and answers what was acknowledged. */
export type SendOnce<B> = (batches: readonly PartitionBatch<B>[], leader: number) => Promise<RecordMetadata[]>

/** Times in ms. */
export type BatchingOptions<B> = {
  newBatch: () => B
  lingerMs: number
  deadlineMs: number
  /** The broker that leads a partition, as far as is known; asked anew for each batch. */
  leaderOf: (partition: number) => number
}

const FIRST_RETRY_MS = 50
const MAX_RETRY_MS = 500

/** One call of `publish`: settled when each batch with records of it is acknowledged, or when its deadline passes. */
type Request = { unacknowledged: number; settled: boolean; acknowledge(): void; expire(error: Error): void }
/** A batch, whose records it holds, and whether it has been sent: then nothing is added to it. */
type Queued<B> = PartitionBatch<B> & { requests: Request[]; sent: boolean }

/**
 * Gathers records of one topic into batches and sends one batch at a time to each leader, so that a partition keeps its
 * order and a broker that hangs holds up nobody else's partitions.
 *
 * kafkajs may resolve a send after a leader has moved without having stored every partition, so each answer is
 * held against what was sent, and whatever it does not cover is sent again, in front of newer records, until
 * the requests that wait for it expire. A repeat may store a record twice; subscribers drop repeats.
 */
export const createBatchingProducer = <B extends Batch>(
  send: SendOnce<B>,
  options: BatchingOptions<B>,
  log: Log,
) => {
  const { leaderOf } = options
  const queues = new Map<number, Queued<B>[]>()
  /** Partitions of which a batch is on its way; the next one waits for its answer, whoever leads by then. */
  const underWay = new Set<number>()
  const sending = new Map<number, Promise<void>>()
  let lingering: NodeJS.Timeout | undefined

  const waitsFor = (partition: number, leader: number): boolean =>
    !underWay.has(partition) && leaderOf(partition) === leader

  /** Adds a record to the newest batch of its partition, or to one more, and answers which that was. */
  const append = (key: Uint8Array, record: SerializedRecord, partition: number): Queued<B> => {
    const queue = queues.get(partition)
    const newest = queue?.at(-1)
    if (newest && !newest.sent && newest.batch.append(key, record)) return newest
    const opened = { partition, batch: options.newBatch(), requests: [], sent: false }
    opened.batch.append(key, record)
    if (queue) queue.push(opened)
    else queues.set(partition, [opened])
    return opened
  }

  /** The oldest batch of each partition. */
  const takeBatches = (leader: number): Queued<B>[] => {
    const taken: Queued<B>[] = []
    for (const [partition, queue] of queues) {
      if (!waitsFor(partition, leader)) continue
      // Nobody waits for an expired request any more, and its client was told to repeat it.
      const next = queue.findIndex(({ requests }) => requests.some(({ settled }) => !settled))
      const rest = next === -1 ? [] : queue.slice(next + 1)
      if (rest.length === 0) queues.delete(partition)
      else queues.set(partition, rest)
      const batch = queue[next]
      if (!batch) continue
      batch.sent = true
      taken.push(batch)
    }
    return taken
  }

  /** Answers which of the batches were not stored. */
  const sendBatches = async (batches: Queued<B>[], leader: number): Promise<Queued<B>[]> => {
    if (batches.length === 0) return []
    for (const { partition } of batches) underWay.add(partition)
    try {
      const answers = await send(batches, leader)
      const stored = new Set(
        answers.filter(({ errorCode }) => errorCode === 0).map(({ partition }) => partition),
      )
      for (const { partition, batch, requests } of batches) {
        if (!stored.has(partition)) continue
        batch.release()
        for (const request of requests) request.acknowledge()
      }
      return batches.filter(({ partition }) => !stored.has(partition))
    } catch (error) {
      log.warn({ err: error, leader, batches: batches.length }, 'sending to Kafka failed and is tried again')
      return batches
    } finally {
      for (const { partition } of batches) underWay.delete(partition)
    }
  }

  const putBack = (batches: Queued<B>[]): void => {
    for (const failed of batches)
      queues.set(failed.partition, [failed, ...(queues.get(failed.partition) ?? [])])
  }

  const sendAll = async (leader: number): Promise<void> => {
    let retryMs = FIRST_RETRY_MS
    while (queues.keys().some((partition) => waitsFor(partition, leader))) {
      const failed = await sendBatches(takeBatches(leader), leader)
      if (failed.length === 0) {
        retryMs = FIRST_RETRY_MS
        continue
      }
      putBack(failed)
      // Somebody else may lead these partitions by now.
      flush()
      await new Promise((resolve) => setTimeout(resolve, retryMs))
      retryMs = Math.min(MAX_RETRY_MS, retryMs * 2)
    }
  }

  const flush = (): void => {
    clearTimeout(lingering)
    lingering = undefined
    for (const partition of queues.keys()) {
      const leader = leaderOf(partition)
      if (sending.has(leader) || underWay.has(partition)) continue
      const sent = sendAll(leader).finally(() => {
        sending.delete(leader)
        if (queues.size > 0) flush()
      })
      sending.set(leader, sent)
    }
  }

  const createRequest = (
    resolve: () => void,
    reject: (error: Error) => void,
    deadlineMs: number,
  ): Request => {
    const request: Request = {
      unacknowledged: 0,
      settled: false,
      acknowledge: () => {
        request.unacknowledged--
        if (request.unacknowledged > 0 || request.settled) return
        request.settled = true
        clearTimeout(timer)
        resolve()
      },
      expire: (error) => {
        request.settled = true
        reject(error)
      },
    }
    const timer = setTimeout(
      () =>
        request.expire(new BusUnavailableError(`Kafka did not acknowledge within ${options.deadlineMs} ms`)),
      deadlineMs,
    )
    return request
  }

  return {
    /**
     * Resolves when every record is acknowledged by all in-sync replicas. `deadlineMs` is what is left of the deadline.
     * @throws BusUnavailableError when the deadline passes first
     */
    publish: (
      records: readonly SerializedRecord[],
      partitionOf: (key: Uint8Array) => number,
      deadlineMs = options.deadlineMs,
    ): Promise<void> =>
      new Promise((resolve, reject) => {
        if (records.length === 0) return resolve()
        const request = createRequest(resolve, reject, deadlineMs)
        for (const record of records) {
          const key = keyBytesOf(record.key)
          const partition = partitionOf(key)
          const { requests } = append(key, record, partition)
          if (requests.at(-1) === request) continue
          requests.push(request)
          request.unacknowledged++
          if (!sending.has(leaderOf(partition))) lingering ??= setTimeout(flush, options.lingerMs)
        }
      }),
    /** Sends what was published, or gives it up at its deadline. */
    drain: async (): Promise<void> => {
      if (lingering) flush()
      while (sending.size > 0) await Promise.all(sending.values())
    },
  }
}
