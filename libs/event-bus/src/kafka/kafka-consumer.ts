import type { Log } from '@waymark/contracts/log'
import type { KafkaClient } from '@waymark/kafka-client'
import type { EachBatchPayload, IHeaders, KafkaMessage } from 'kafkajs'
import { backOff, type Deliver, type RawRecord } from '../delivery.ts'
import type { Consumer } from '../port.ts'

/** Times in ms, sizes in bytes. */
type KafkaConsumerOptions = {
  group: string
  topic: string
  partitionsAtOnce: number
  maxBytesPerPartition: number
  sessionTimeoutMs: number
  maxBatchRecords: number
  /** Receives the lag of a partition, in records; undefined when another member owns the partition. */
  onLag?: (partition: number, records: number | undefined) => void
}

/**
 * How long a fetch waits for records, in ms. A longer wait means fewer requests of an idle consumer, but a stop and a
 * rebalance wait for the fetch in flight.
 */
export const MAX_FETCH_WAIT_MS = 3_000
/** After running this long, the next failure of a consumer counts as the first attempt again. */
const STABLE_MS = 30_000

/**
 * Consumes one topic for one group. Offsets are committed per partition, in order, after `deliver` has resolved.
 * Memory is bounded by the size of one fetch, because the next one starts after all its records are handled.
 */
export const createKafkaConsumer = (
  newClient: () => KafkaClient,
  deliver: Deliver,
  options: KafkaConsumerOptions,
  log: Log,
): Consumer => {
  const { group, topic, partitionsAtOnce, maxBytesPerPartition, sessionTimeoutMs, maxBatchRecords } = options
  const { onLag = () => {} } = options
  const seen = new Set<number>()
  const stopping = new AbortController()
  let running: Promise<void> | undefined

  const eachBatch = async (payload: EachBatchPayload): Promise<void> => {
    const {
      batch,
      heartbeat,
      resolveOffset,
      commitOffsetsIfNecessary,
      uncommittedOffsets,
      isRunning,
      isStale,
    } = payload
    const end = BigInt(batch.highWatermark)
    const reportLag = (offset: string): void =>
      onLag(batch.partition, Math.max(0, Number(end - BigInt(offset))))
    seen.add(batch.partition)
    reportLag(batch.firstOffset() ?? batch.highWatermark)
    const interrupted = new AbortController()
    const signal = AbortSignal.any([interrupted.signal, stopping.signal])
    // A heartbeat fails when the group rebalances. The current batch is finished and committed before the rejoin.
    const beating = setInterval(() => heartbeat().catch((error) => interrupted.abort(error)), 1_000)
    try {
      for (let start = 0; start < batch.messages.length; start += maxBatchRecords) {
        if (!isRunning() || isStale() || signal.aborted) break
        const messages = batch.messages.slice(start, start + maxBatchRecords)
        await deliver(
          messages.map((message) => toRawRecord(batch.partition, message)),
          signal,
        )
        const last = messages.at(-1)
        if (last) {
          resolveOffset(last.offset)
          reportLag(`${BigInt(last.offset) + 1n}`)
        }
        await commitOffsetsIfNecessary(uncommittedOffsets())
      }
    } catch (error) {
      if (!signal.aborted) throw error
    } finally {
      clearInterval(beating)
    }
    if (interrupted.signal.aborted) throw interrupted.signal.reason
  }

  const forget = (partition: number): void => {
    seen.delete(partition)
    onLag(partition, undefined)
  }

  /** Runs a kafkajs consumer until it is stopped. Rejects when it crashes. */
  const consumeOnce = async (): Promise<void> => {
    const { kafka, closeAll } = newClient()
    const consumer = kafka.consumer({
      groupId: group,
      sessionTimeout: sessionTimeoutMs,
      heartbeatInterval: Math.floor(sessionTimeoutMs / 10),
      maxBytesPerPartition,
      // kafkajs sends heartbeats between fetches, so a fetch must be shorter than the session timeout.
      maxWaitTimeInMs: Math.min(MAX_FETCH_WAIT_MS, Math.floor(sessionTimeoutMs / 5)),
      allowAutoTopicCreation: false,
      // kafkajs restarts only after errors that it considers retriable; `keepConsuming` restarts after all.
      retry: { retries: 5, initialRetryTime: 100, maxRetryTime: 1_000, restartOnFailure: async () => false },
    })
    let clockWatch: NodeJS.Timeout | undefined
    const ended = new Promise<void>((resolve, reject) => {
      consumer.on(consumer.events.CRASH, ({ payload }) => reject(payload.error))
      stopping.signal.addEventListener('abort', () => resolve())
      clockWatch = watchClock(sessionTimeoutMs / 2, reject)
    })
    // Prevents an unhandled rejection when it rejects before `await ended`.
    ended.catch(() => {})
    consumer.on(consumer.events.GROUP_JOIN, ({ payload }) => {
      const own = new Set(payload.memberAssignment[topic])
      for (const partition of seen) if (!own.has(partition)) forget(partition)
    })
    try {
      await consumer.connect()
      await consumer.subscribe({ topics: [topic], fromBeginning: true })
      await consumer.run({
        eachBatchAutoResolve: false,
        partitionsConsumedConcurrently: partitionsAtOnce,
        eachBatch,
      })
      await ended
    } finally {
      clearInterval(clockWatch)
      await consumer
        .stop()
        .finally(() => consumer.disconnect())
        .finally(closeAll)
    }
  }

  const keepConsuming = async (): Promise<void> => {
    for (let attempt = 1; !stopping.signal.aborted; attempt++) {
      const startedAt = performance.now()
      try {
        await consumeOnce()
      } catch (error) {
        if (performance.now() - startedAt > STABLE_MS) attempt = 1
        log.warn({ group, topic, attempt, err: error }, 'Consuming from Kafka failed; retrying')
        await backOff(attempt, stopping.signal).catch(() => {})
      }
    }
  }

  return {
    start: async () => {
      running ??= keepConsuming()
    },
    stop: async () => {
      stopping.abort()
      await running
    },
  }
}

/**
 * Calls `onSetBack` when the system clock is set back by more than `toleratedMs`. kafkajs compares wall-clock times and
 * would send no heartbeat until the time of the last one is reached again.
 */
const watchClock = (toleratedMs: number, onSetBack: (error: Error) => void): NodeJS.Timeout => {
  let offset = Date.now() - performance.now()
  return setInterval(() => {
    const before = offset
    offset = Date.now() - performance.now()
    if (before - offset > toleratedMs) onSetBack(new Error(`the clock was set back by ${before - offset} ms`))
  }, 1_000)
}

const toRawRecord = (partition: number, message: KafkaMessage): RawRecord => ({
  partition,
  offset: BigInt(message.offset),
  key: message.key?.toString('utf8') ?? null,
  value: message.value ?? Buffer.alloc(0),
  headers: toStrings(message.headers),
})

const toStrings = (headers: IHeaders | undefined): Record<string, string> => {
  const strings: Record<string, string> = {}
  for (const [name, value] of Object.entries(headers ?? {})) {
    const single = Array.isArray(value) ? value[0] : value
    if (single !== undefined) strings[name] = single.toString()
  }
  return strings
}
