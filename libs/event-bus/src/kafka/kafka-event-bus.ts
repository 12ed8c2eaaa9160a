import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type { Log, Topic } from '@waymark/contracts'
import kafkajs, { type Admin, type KafkaConfig, type logCreator, type SASLOptions } from 'kafkajs'
import { createDelivery, DEFAULT_BATCH_RECORDS, deadLettersTo } from '../delivery.ts'
import { partitionOf } from '../partitioner.ts'
import { type EventBus, publishing } from '../port.ts'
import { createBatchingProducer, type SendOnce } from './batching-producer.ts'
import { connectAdmin, type KafkaClient } from './connect.ts'
import { asEncoded, sendEncodedBatches } from './encoded-batches.ts'
import { createKafkaConsumer, MAX_FETCH_WAIT_MS } from './kafka-consumer.ts'
import { createPartitionLeaders } from './partition-leaders.ts'
import { createProducers } from './producers.ts'
import { quietRequestQueue } from './quiet-request-queue.ts'
import { type BatchCompression, createRecordBatches, type RecordBatch } from './record-batch.ts'
import { createSockets } from './sockets.ts'
import { registerZstd, zstd } from './zstd-codec.ts'

// They change kafkajs itself, for every client of this process.
registerZstd()
quietRequestQueue()
sendEncodedBatches()

/** How to reach Kafka and how long to wait for it. Times in ms. */
export type KafkaOptions = {
  brokers: string[]
  clientId: string
  /** Put in front of topic and group names, so that deployments may share a cluster. */
  topicPrefix?: string
  compression?: 'none' | 'gzip' | 'zstd'
  lingerMs?: number
  publishDeadlineMs?: number
  partitionsAtOnce?: number
  sessionTimeoutMs?: number
  /** Hears how far a group is behind on a partition, in records; undefined when that is no longer this process's. */
  onLag?: (where: { group: string; topic: string; partition: number }, records: number | undefined) => void
  /** Reaches the brokers by TLS; what is given is in PEM. */
  tls?: { ca?: string; cert?: string; key?: string }
  sasl?: { mechanism: 'plain' | 'scram-sha-256' | 'scram-sha-512'; username: string; password: string }
}

// Below the broker's default limit of 1 MiB, with room for the framing of a record batch.
const MAX_PARTITION_BATCH_BYTES = 900_000
const MAX_FETCH_BYTES_PER_PARTITION = 1_048_576
// What comes while a batch is under way is gathered anyway; to wait for long would only have all requests wait together.
const LINGER_MS = 1
// The first handshake of a broker that has just started takes its time.
const ADMIN_CONNECTION_MS = 10_000
const ADMIN_CONNECTED_WITHIN_MS = 30_000
const LEADERS_WITHIN_MS = 30_000
const LEADERS_CHECKED_EVERY_MS = 100

/** The event bus on Apache Kafka. Connects when first needed and recovers by itself. */
export const createKafkaEventBus = (options: KafkaOptions, log: Log): EventBus => {
  const { topicPrefix = '', publishDeadlineMs = 4_000 } = options
  // A broker that hangs leaves time to ask another one, for the partitions and again for sending.
  const connectionMs = publishDeadlineMs / 3
  // As long as Kafka holds a request for records it does not answer late.
  const answerMs = MAX_FETCH_WAIT_MS + publishDeadlineMs
  const newConsumerClient = kafkaClients(options, publishDeadlineMs, log, answerMs)
  const compression = compressions[options.compression ?? 'zstd']
  const producers = createProducers(kafkaClients(options, connectionMs, log))
  const leaders = createPartitionLeaders(kafkaClients(options, connectionMs, log))
  const newBatch = createRecordBatches(MAX_PARTITION_BATCH_BYTES)
  const lanes = new Map<string, ReturnType<typeof createBatchingProducer<RecordBatch>>>()

  const laneOf = (topic: string) => {
    const known = lanes.get(topic)
    if (known !== undefined) return known
    const send: SendOnce<RecordBatch> = async (batches, leader) => {
      const now = Date.now()
      const messages = await Promise.all(
        batches.map(async ({ partition, batch }) => ({
          partition,
          value: asEncoded(await batch.finish(now, compression)),
        })),
      )
      return producers.use(leader, async (producer) => {
        try {
          return await producer.sendBatch({
            acks: -1,
            timeout: publishDeadlineMs,
            topicMessages: [{ topic, messages }],
          })
        } catch (error) {
          await leaders.refresh(topic)
          throw error
        }
      })
    }
    const lane = createBatchingProducer(
      send,
      {
        newBatch,
        lingerMs: options.lingerMs ?? LINGER_MS,
        deadlineMs: publishDeadlineMs,
        leaderOf: (partition) => leaders.leaderOf(topic, partition),
      },
      log,
    )
    lanes.set(topic, lane)
    return lane
  }

  const bus: EventBus = {
    ...publishing(async (topic, records) => {
      const name = topicPrefix + topic.name
      const known = leaders.knownPartitionCount(name)
      if (known !== undefined) return laneOf(name).publish(records, (key) => partitionOf(key, known))
      const deadline = performance.now() + publishDeadlineMs
      const partitions = await leaders.readPartitionCount(name, publishDeadlineMs)
      const leftMs = deadline - performance.now()
      return laneOf(name).publish(records, (key) => partitionOf(key, partitions), leftMs)
    }),
    subscribe: (subscription) => {
      const deliver = createDelivery(subscription, { publishDeadLetters: deadLettersTo(bus), log })
      return createKafkaConsumer(
        newConsumerClient,
        deliver,
        {
          group: topicPrefix + subscription.group,
          topic: topicPrefix + subscription.topic.name,
          partitionsAtOnce: options.partitionsAtOnce ?? 4,
          maxBytesPerPartition: MAX_FETCH_BYTES_PER_PARTITION,
          sessionTimeoutMs: options.sessionTimeoutMs ?? 30_000,
          maxBatchRecords: subscription.maxBatchRecords ?? DEFAULT_BATCH_RECORDS,
          onLag: (partition, records) =>
            options.onLag?.(
              { group: subscription.group, topic: subscription.topic.name, partition },
              records,
            ),
        },
        log,
      )
    },
    close: async () => {
      await Promise.all([...lanes.values()].map((lane) => lane.drain()))
      await producers.close()
    },
  }
  return bus
}

/**
 * Creates the topics that do not exist yet, and never changes one that does.
 * @throws when the cluster cannot be reached
 */
export const ensureKafkaTopics = async (
  options: KafkaOptions,
  topics: readonly Topic<unknown>[],
  { partitions, replication }: { partitions: number; replication: number },
  log: Log,
): Promise<void> => {
  const nameOf = (topic: Topic<unknown>): string => (options.topicPrefix ?? '') + topic.name
  const newClient = kafkaClients(options, ADMIN_CONNECTION_MS, log)
  const admin = await connectAdmin(newClient, {
    withinMs: ADMIN_CONNECTED_WITHIN_MS,
    retries: 8,
  })
  try {
    await admin.createTopics({
      waitForLeaders: false,
      topics: topics.map((topic) => ({
        topic: nameOf(topic),
        numPartitions: partitions,
        replicationFactor: replication,
        configEntries: [
          { name: 'retention.ms', value: `${topic.retentionMs}` },
          { name: 'max.message.bytes', value: `${topic.maxMessageBytes}` },
          { name: 'min.insync.replicas', value: `${Math.max(1, replication - 1)}` },
        ],
      })),
    })
    await awaitLeaders(admin, topics.map(nameOf))
  } finally {
    await admin.disconnect()
  }
}

/** Also a broker that has not heard yet of a topic that another one has just created says that there is none. */
const awaitLeaders = async (admin: Admin, topics: string[]): Promise<void> => {
  const deadline = performance.now() + LEADERS_WITHIN_MS
  for (;;) {
    // At first, too: a broker is named as a leader a moment before it acts as one.
    await sleep(LEADERS_CHECKED_EVERY_MS)
    try {
      await admin.fetchTopicMetadata({ topics })
      return
    } catch (error) {
      if (performance.now() > deadline) throw error
    }
  }
}

const gzipped = promisify(gzip)

const compressions: Record<NonNullable<KafkaOptions['compression']>, BatchCompression | undefined> = {
  none: undefined,
  gzip: { codec: kafkajs.CompressionTypes.GZIP, compress: (bytes) => gzipped(bytes) },
  zstd: { codec: kafkajs.CompressionTypes.ZSTD, compress: zstd },
}

/**
 * Makes clients of which each begins with another broker than the one before: of its brokers kafkajs asks the first, and
 * asks it again after a failure.
 * @param connectionMs of connecting one of them
 * @param answerMs of waiting for an answer
 */
const kafkaClients = (
  { brokers, clientId, publishDeadlineMs = 4_000, tls, sasl }: KafkaOptions,
  connectionMs: number,
  log: Log,
  answerMs = publishDeadlineMs,
): (() => KafkaClient) => {
  const config: Omit<KafkaConfig, 'brokers'> = {
    clientId,
    connectionTimeout: connectionMs,
    requestTimeout: answerMs,
    retry: { retries: 0 },
    logCreator: logTo(log),
    ...(tls && { ssl: tls }),
    ...(sasl && { sasl: saslOptions(sasl) }),
  }
  // Not every process with the same one.
  let first = Math.floor(Math.random() * brokers.length)
  return () => {
    first = (first + 1) % brokers.length
    const { socketFactory, closeAll } = createSockets()
    const inTurn = [...brokers.slice(first), ...brokers.slice(0, first)]
    const kafka = new kafkajs.Kafka({ ...config, socketFactory, brokers: inTurn })
    return { kafka, connectionMs, closeAll }
  }
}

const saslOptions = ({ mechanism, ...credentials }: NonNullable<KafkaOptions['sasl']>): SASLOptions => {
  // Spelled out for the types, which tell one mechanism from another.
  switch (mechanism) {
    case 'plain':
      return { mechanism, ...credentials }
    case 'scram-sha-256':
      return { mechanism, ...credentials }
    case 'scram-sha-512':
      return { mechanism, ...credentials }
  }
}

// kafkajs logs every retry as an error; what matters is logged by the bus itself.
const logTo =
  (log: Log): logCreator =>
  () =>
  ({ namespace, log: { message, error } }) =>
    log.debug({ kafkajs: namespace, error: typeof error === 'string' ? error : undefined }, message)
