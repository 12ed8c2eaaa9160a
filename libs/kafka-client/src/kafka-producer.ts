import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type { Log } from '@waymark/contracts/log'
import { PUBLISH_DEADLINE_MS } from '@waymark/contracts/request-budget'
import kafkajs, { type Producer } from 'kafkajs'
import { createBatchingProducer, type SendOnce } from './batching-producer.ts'
import { connectWithin, createKafkaClients, type KafkaClient, type KafkaConnection } from './clients.ts'
import { asEncoded, loadedKafkajs, requirePatched } from './kafkajs-patches.ts'
import { createPartitionLeaders, partitionOf } from './partitions.ts'
import {
  type BatchCompression,
  type BatchRecord,
  createRecordBatches,
  type RecordBatch,
} from './record-batch.ts'
import { createStoredCheck } from './stored-check.ts'
import { zstd } from './zstd-codec.ts'

/** Times in ms. */
type KafkaProducerOptions = {
  /** How long `send` waits for the acknowledgement of all in-sync replicas; 4,000 by default. */
  deadlineMs?: number
  /** How long records wait for others to share their batch; 1 by default. */
  lingerMs?: number
  compression?: 'none' | 'gzip' | 'zstd'
}

/** Sends records to Kafka in batches, and resolves once they are durable. */
type KafkaProducer = {
  /**
   * Resolves when all in-sync replicas have acknowledged every record. Records with the same key go to the same
   * partition, in order.
   * @throws BusUnavailableError when the deadline passes first; the records may still arrive
   */
  send(topic: string, records: readonly BatchRecord[]): Promise<void>
  /** Sends what is waiting, until its deadline, and disconnects. */
  close(): Promise<void>
}

// Below the broker's default limit of 1 MiB, with room for the framing of a record batch.
const MAX_BATCH_BYTES = 900_000
// Records that arrive while a batch is being sent share the next one anyway.
const LINGER_MS = 1

/** Creates a producer. It connects when first needed and recovers from failures by itself. */
export const createKafkaProducer = (
  connection: KafkaConnection,
  { deadlineMs = PUBLISH_DEADLINE_MS, lingerMs = LINGER_MS, compression = 'zstd' }: KafkaProducerOptions,
  log: Log,
): KafkaProducer => {
  // Another copy may have been loaded since the start.
  requirePatched(loadedKafkajs())
  // If a broker hangs, this leaves time to ask another one, for the leaders and again to send.
  const timeouts = { connectionMs: deadlineMs / 3, requestMs: deadlineMs }
  const producers = createProducers(createKafkaClients(connection, timeouts, log))
  const leaders = createPartitionLeaders(createKafkaClients(connection, timeouts, log))
  const storedCheck = createStoredCheck(createKafkaClients(connection, timeouts, log), log)
  const newBatch = createRecordBatches(MAX_BATCH_BYTES)
  const batchingProducers = new Map<string, ReturnType<typeof createBatchingProducer<RecordBatch>>>()

  const sendBatches =
    (topic: string): SendOnce<RecordBatch> =>
    async (batches, leader) => {
      const now = Date.now()
      const messages = await Promise.all(
        batches.map(async ({ partition, batch }) => ({
          partition,
          value: asEncoded(await batch.finish(now, COMPRESSIONS[compression])),
        })),
      )
      const answers = await producers.use(leader, async (producer) => {
        try {
          return await producer.sendBatch({
            acks: -1,
            timeout: deadlineMs,
            topicMessages: [{ topic, messages }],
          })
        } catch (error) {
          await leaders.refresh(topic)
          throw error
        }
      })
      const counts = new Map(batches.map(({ partition, batch }) => [partition, batch.count()]))
      storedCheck.check(topic, answers, counts)
      return answers
    }

  const batchingProducerOf = (topic: string) => {
    const known = batchingProducers.get(topic)
    if (known !== undefined) return known
    const leaderOf = (partition: number): number => leaders.leaderOf(topic, partition)
    const created = createBatchingProducer(
      sendBatches(topic),
      { newBatch, lingerMs, deadlineMs, leaderOf },
      log,
    )
    batchingProducers.set(topic, created)
    return created
  }

  return {
    send: async (topic, records) => {
      storedCheck.requireRight()
      const startedAt = performance.now()
      const partitions =
        leaders.knownPartitionCount(topic) ?? (await leaders.readPartitionCount(topic, deadlineMs))
      const leftMs = deadlineMs - (performance.now() - startedAt)
      await batchingProducerOf(topic).send(records, (key) => partitionOf(key, partitions), leftMs)
    },
    close: async () => {
      await Promise.all([...batchingProducers.values()].map((producer) => producer.drain()))
      await producers.close()
    },
  }
}

const gzipped = promisify(gzip)

const COMPRESSIONS: Record<'none' | 'gzip' | 'zstd', BatchCompression | undefined> = {
  none: undefined,
  gzip: { codec: kafkajs.CompressionTypes.GZIP, compress: (bytes) => gzipped(bytes) },
  zstd: { codec: kafkajs.CompressionTypes.ZSTD, compress: zstd },
}

/**
 * One kafkajs producer for each leader, with its own connections, so that a failure of one does not affect the others.
 * Connects when first needed.
 */
const createProducers = (newClient: () => KafkaClient) => {
  const producers = new Map<number, Promise<Producer>>()

  const connect = (): Promise<Producer> => {
    const { kafka, connectionMs } = newClient()
    // The retry of kafkajs may resolve a send that was not stored. The batching producer retries instead.
    const producer = kafka.producer({
      idempotent: false,
      allowAutoTopicCreation: false,
      retry: { retries: 0 },
    })
    return connectWithin(connectionMs, producer)
  }

  const get = (leader: number): Promise<Producer> => {
    const known = producers.get(leader)
    if (known !== undefined) return known
    const connecting = connect()
    producers.set(leader, connecting)
    return connecting
  }

  return {
    /**
     * Runs `work` with a leader's producer. A producer that fails is replaced: after a timeout kafkajs keeps asking the
     * same broker, even if another one leads by now.
     * @throws what kafkajs throws when the broker does not answer or refuses
     */
    use: async <T>(leader: number, work: (producer: Producer) => Promise<T>): Promise<T> => {
      const mine = get(leader)
      try {
        return await work(await mine)
      } catch (error) {
        if (producers.get(leader) === mine) producers.delete(leader)
        // Disconnecting from a broker that hangs takes long, so do not await it.
        void mine.then((producer) => producer.disconnect()).catch(() => {})
        throw error
      }
    },
    close: async (): Promise<void> => {
      const connected = await Promise.allSettled(producers.values())
      await Promise.all(
        connected.map((result) => (result.status === 'fulfilled' ? result.value.disconnect() : undefined)),
      )
    },
  }
}
