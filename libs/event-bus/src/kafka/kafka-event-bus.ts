import { PUBLISH_DEADLINE_MS } from '@waymark/contracts/request-budget'
import { createKafkaClients, createKafkaProducer, type KafkaConnection } from '@waymark/kafka-client'
import { createDelivery, DEFAULT_BATCH_RECORDS, type DeliveryDeps, deadLettersTo } from '../delivery.ts'
import { type EventBus, publishing } from '../port.ts'
import { createKafkaConsumer, MAX_FETCH_WAIT_MS } from './kafka-consumer.ts'
import { createReadKafkaLag } from './kafka-lag.ts'

/** How to reach Kafka and how long to wait for it. Times in ms. */
export type KafkaOptions = KafkaConnection & {
  /** Prefix of topic and group names, so that deployments can share a cluster. */
  topicPrefix?: string
  compression?: 'none' | 'gzip' | 'zstd'
  lingerMs?: number
  publishDeadlineMs?: number
  partitionsAtOnce?: number
  sessionTimeoutMs?: number
  /** Receives the lag of a group on a partition, in records; undefined when another process owns the partition. */
  onLag?: (where: { group: string; topic: string; partition: number }, records: number | undefined) => void
}

const LAG_DEADLINE_MS = 3_000
const MAX_FETCH_BYTES_PER_PARTITION = 1_048_576

/** The event bus on Apache Kafka. It connects on first use and reconnects after failures. */
export const createKafkaEventBus = (
  options: KafkaOptions,
  { log, classifyError }: Omit<DeliveryDeps, 'publishDeadLetters'>,
): EventBus => {
  const { topicPrefix = '', publishDeadlineMs = PUBLISH_DEADLINE_MS, lingerMs, compression } = options
  const producer = createKafkaProducer(
    options,
    {
      deadlineMs: publishDeadlineMs,
      ...(lingerMs !== undefined && { lingerMs }),
      ...(compression && { compression }),
    },
    log,
  )
  // Kafka delays the response to a fetch by up to MAX_FETCH_WAIT_MS.
  const consumerTimeouts = {
    connectionMs: publishDeadlineMs,
    requestMs: MAX_FETCH_WAIT_MS + publishDeadlineMs,
  }
  const newConsumerClient = createKafkaClients(options, consumerTimeouts, log)

  const bus: EventBus = {
    ...publishing((topic, records) => producer.send(topicPrefix + topic.name, records)),
    subscribe: (subscription) => {
      const deliver = createDelivery(subscription, {
        publishDeadLetters: deadLettersTo(bus),
        log,
        classifyError,
      })
      return createKafkaConsumer(
        newConsumerClient,
        deliver,
        {
          group: topicPrefix + subscription.group,
          topic: topicPrefix + subscription.topic.name,
          partitionsAtOnce: Math.max(options.partitionsAtOnce ?? 4, subscription.partitionsAtOnce ?? 1),
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
    readLag: createReadKafkaLag(
      createKafkaClients(options, { connectionMs: LAG_DEADLINE_MS, requestMs: LAG_DEADLINE_MS }, log),
      { topicPrefix, deadlineMs: LAG_DEADLINE_MS },
    ),
    close: () => producer.close(),
  }
  return bus
}
