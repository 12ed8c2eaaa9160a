import { BusUnavailableError } from '@waymark/contracts/bus-unavailable-error'
import type { Log } from '@waymark/contracts/log'
import type { RecordMetadata } from 'kafkajs'
import type { BatchRecord } from './record-batch.ts'

/** What records of one partition are gathered in. */
type Batch = {
  /** Whether the record was added: false when there is no room for it beside the others. `key` is its key in UTF-8. */
  append(key: Uint8Array, record: BatchRecord): boolean
  /** Called once the batch is stored and no longer needed. */
  release(): void
}
export type PartitionBatch<B> = { partition: number; batch: B }

/** Sends one batch for each of several partitions of `leader`, once. Returns the acknowledgements. */
export type SendOnce<B> = (batches: readonly PartitionBatch<B>[], leader: number) => Promise<RecordMetadata[]>

/** Times in ms. */
type BatchingOptions<B> = {
  newBatch: () => B
  lingerMs: number
  deadlineMs: number
  /** The broker that leads a partition, as far as is known. Read for each batch. */
  leaderOf: (partition: number) => number
}

const FIRST_RETRY_MS = 50
const MAX_RETRY_MS = 500

/** One call of `send`. Settled when all batches that hold its records are acknowledged, or at its deadline. */
type Request = { unacknowledged: number; settled: boolean; acknowledge(): void; expire(error: Error): void }
/** A batch and the requests whose records it holds. Once it was sent, no record is added. */
type Queued<B> = PartitionBatch<B> & { requests: Request[]; sent: boolean }

/**
 * Gathers the records of one topic into batches and sends one request at a time to each leader. So a partition keeps
 * its order, and a broker that hangs delays only its own partitions.
 *
 * After a change of leader kafkajs may resolve a send that did not store every partition. Each response is therefore
 * compared with what was sent. What it does not cover is sent again, before newer records, until the requests that wait
 * for it expire. A repeat may store a record twice, so consumers must drop repeats.
 */
export const createBatchingProducer = <B extends Batch>(
  sendOnce: SendOnce<B>,
  options: BatchingOptions<B>,
  log: Log,
) => {
  const { leaderOf } = options
  const queues = new Map<number, Queued<B>[]>()
  /** Partitions with a batch in flight. The next batch waits for its response, also after a change of leader. */
  const inFlight = new Set<number>()
  const sending = new Map<number, Promise<void>>()
  let lingering: NodeJS.Timeout | undefined

  const canSend = (partition: number, leader: number): boolean =>
    !inFlight.has(partition) && leaderOf(partition) === leader

  /** Adds a record to the newest batch of its partition, or to a new one, and returns that batch. */
  const append = (key: Uint8Array, record: BatchRecord, partition: number): Queued<B> => {
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
      if (!canSend(partition, leader)) continue
      // Expired requests are not sent, because their clients repeat them.
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

  /** Returns the batches that were not stored. */
  const sendBatches = async (batches: Queued<B>[], leader: number): Promise<Queued<B>[]> => {
    if (batches.length === 0) return []
    for (const { partition } of batches) inFlight.add(partition)
    try {
      const answers = await sendOnce(batches, leader)
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
      log.warn({ err: error, leader, batches: batches.length }, 'Sending to Kafka failed; retrying')
      return batches
    } finally {
      for (const { partition } of batches) inFlight.delete(partition)
    }
  }

  const putBack = (batches: Queued<B>[]): void => {
    for (const failed of batches)
      queues.set(failed.partition, [failed, ...(queues.get(failed.partition) ?? [])])
  }

  const sendAll = async (leader: number): Promise<void> => {
    let retryMs = FIRST_RETRY_MS
    while (queues.keys().some((partition) => canSend(partition, leader))) {
      const failed = await sendBatches(takeBatches(leader), leader)
      if (failed.length === 0) {
        retryMs = FIRST_RETRY_MS
        continue
      }
      putBack(failed)
      // The leaders of these partitions may have changed.
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
      if (sending.has(leader) || inFlight.has(partition)) continue
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
     * Resolves when all in-sync replicas have acknowledged every record. `deadlineMs` is what remains of the deadline.
     * @throws BusUnavailableError when the deadline passes first
     */
    send: (
      records: readonly BatchRecord[],
      partitionOf: (key: Uint8Array) => number,
      deadlineMs = options.deadlineMs,
    ): Promise<void> =>
      new Promise((resolve, reject) => {
        if (records.length === 0) return resolve()
        const request = createRequest(resolve, reject, deadlineMs)
        for (const record of records) {
          const key = Buffer.from(record.key)
          const partition = partitionOf(key)
          const { requests } = append(key, record, partition)
          if (requests.at(-1) === request) continue
          requests.push(request)
          request.unacknowledged++
          if (!sending.has(leaderOf(partition))) lingering ??= setTimeout(flush, options.lingerMs)
        }
      }),
    /** Sends what is waiting, or drops it at its deadline. */
    drain: async (): Promise<void> => {
      if (lingering) flush()
      while (sending.size > 0) await Promise.all(sending.values())
    },
  }
}
