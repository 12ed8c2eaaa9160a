import type { Log } from '@waymark/contracts'
import type { RecordMetadata } from 'kafkajs'
import { BusUnavailableError } from '../port.ts'

/** A record with its partition chosen and its value serialised. */
export type PartitionedRecord = {
  partition: number
  key: string
  value: string
  headers?: Record<string, string>
}

/** Sends records of one topic, all of partitions that `leader` leads, once, and answers what was acknowledged. */
export type SendOnce = (records: readonly PartitionedRecord[], leader: number) => Promise<RecordMetadata[]>

/** Times in ms, sizes in bytes. */
export type BatchingOptions = {
  lingerMs: number
  maxPartitionBytes: number
  deadlineMs: number
  /** The broker that leads a partition, as far as is known; asked anew for each batch. */
  leaderOf: (partition: number) => number
}

const FIRST_RETRY_MS = 50
const MAX_RETRY_MS = 500

/** One call of `publish`: settled when each of its records is acknowledged, or when its deadline passes. */
type Request = { unacknowledged: number; settled: boolean; acknowledge(): void; expire(error: Error): void }
type Entry = { record: PartitionedRecord; bytes: number; request: Request }

/**
 * Gathers records of one topic into batches and sends one batch at a time to each leader, so that a partition keeps its
 * order and a broker that hangs holds up nobody else's partitions.
 *
 * kafkajs may resolve a send after a leader has moved without having stored every partition, so each answer is
 * held against what was sent, and whatever it does not cover is sent again, in front of newer records, until
 * the requests that wait for it expire. A repeat may store a record twice; subscribers drop repeats.
 */
export const createBatchingProducer = (send: SendOnce, options: BatchingOptions, log: Log) => {
  const { leaderOf } = options
  const queues = new Map<number, Entry[]>()
  /** Partitions of which a batch is on its way; the next one waits for its answer, whoever leads by then. */
  const underWay = new Set<number>()
  const sending = new Map<number, Promise<void>>()
  let lingering: NodeJS.Timeout | undefined

  const waitsFor = (partition: number, leader: number): boolean =>
    !underWay.has(partition) && leaderOf(partition) === leader

  const takeBatch = (leader: number): Entry[] => {
    const batch: Entry[] = []
    for (const [partition, queue] of queues) {
      if (!waitsFor(partition, leader)) continue
      let bytes = 0
      let taken = 0
      for (const entry of queue) {
        if (taken > 0 && bytes + entry.bytes > options.maxPartitionBytes) break
        bytes += entry.bytes
        taken++
        // Nobody waits for an expired request any more, and its client was told to repeat it.
        if (!entry.request.settled) batch.push(entry)
      }
      if (taken === queue.length) queues.delete(partition)
      else queues.set(partition, queue.slice(taken))
    }
    return batch
  }

  const sendBatch = async (batch: Entry[], leader: number): Promise<Entry[]> => {
    if (batch.length === 0) return []
    const partitions = new Set(batch.map(({ record }) => record.partition))
    for (const partition of partitions) underWay.add(partition)
    try {
      const answers = await send(
        batch.map(({ record }) => record),
        leader,
      )
      const stored = new Set(
        answers.filter(({ errorCode }) => errorCode === 0).map(({ partition }) => partition),
      )
      for (const entry of batch) if (stored.has(entry.record.partition)) entry.request.acknowledge()
      return batch.filter(({ record }) => !stored.has(record.partition))
    } catch (error) {
      log.warn({ err: error, leader, records: batch.length }, 'sending to Kafka failed and is tried again')
      return batch
    } finally {
      for (const partition of partitions) underWay.delete(partition)
    }
  }

  const putBack = (entries: Entry[]): void => {
    const byPartition = Map.groupBy(entries, ({ record }) => record.partition)
    for (const [partition, failed] of byPartition)
      queues.set(partition, [...failed, ...(queues.get(partition) ?? [])])
  }

  const sendAll = async (leader: number): Promise<void> => {
    let retryMs = FIRST_RETRY_MS
    while (queues.keys().some((partition) => waitsFor(partition, leader))) {
      const failed = await sendBatch(takeBatch(leader), leader)
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

  const createRequest = (records: number, resolve: () => void, reject: (error: Error) => void): Request => {
    const request: Request = {
      unacknowledged: records,
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
      options.deadlineMs,
    )
    return request
  }

  return {
    /**
     * Resolves when every record is acknowledged by all in-sync replicas.
     * @throws BusUnavailableError when the deadline passes first
     */
    publish: (records: readonly PartitionedRecord[]): Promise<void> =>
      new Promise((resolve, reject) => {
        if (records.length === 0) return resolve()
        const request = createRequest(records.length, resolve, reject)
        for (const record of records) {
          const entry = {
            record,
            bytes: Buffer.byteLength(record.value) + Buffer.byteLength(record.key),
            request,
          }
          const queue = queues.get(record.partition)
          if (queue) queue.push(entry)
          else queues.set(record.partition, [entry])
        }
        if (records.some(({ partition }) => !sending.has(leaderOf(partition))))
          lingering ??= setTimeout(flush, options.lingerMs)
      }),
    /** Sends what was published, or gives it up at its deadline. */
    drain: async (): Promise<void> => {
      if (lingering) flush()
      while (sending.size > 0) await Promise.all(sending.values())
    },
  }
}
