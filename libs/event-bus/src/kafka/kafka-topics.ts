import { setTimeout as sleep } from 'node:timers/promises'
import type { Log, Topic } from '@waymark/contracts'
import { connectAdmin, createKafkaClients } from '@waymark/kafka-client'
import type { Admin } from 'kafkajs'
import { type KafkaOptions, PUBLISH_DEADLINE_MS } from './kafka-event-bus.ts'

// Long, because the first handshake of a broker that has just started is slow.
const CONNECTION_MS = 10_000
const CONNECT_WITHIN_MS = 30_000
const LEADERS_WITHIN_MS = 30_000
const LEADERS_CHECK_INTERVAL_MS = 100

/**
 * Creates the topics that do not exist yet. Never changes an existing one.
 * @throws when the cluster cannot be reached
 */
export const ensureKafkaTopics = async (
  options: KafkaOptions,
  topics: readonly Topic<unknown>[],
  { partitions, replication }: { partitions: number; replication: number },
  log: Log,
): Promise<void> => {
  const { topicPrefix = '', publishDeadlineMs = PUBLISH_DEADLINE_MS } = options
  const timeouts = { connectionMs: CONNECTION_MS, requestMs: publishDeadlineMs }
  const newClient = createKafkaClients(options, timeouts, log)
  const admin = await connectAdmin(newClient, { withinMs: CONNECT_WITHIN_MS, retries: 8 })
  try {
    await admin.createTopics({
      waitForLeaders: false,
      topics: topics.map(({ name, retentionMs, maxMessageBytes }) => ({
        topic: topicPrefix + name,
        numPartitions: partitions,
        replicationFactor: replication,
        configEntries: [
          { name: 'retention.ms', value: `${retentionMs}` },
          { name: 'max.message.bytes', value: `${maxMessageBytes}` },
          { name: 'min.insync.replicas', value: `${Math.max(1, replication - 1)}` },
        ],
      })),
    })
    await waitForLeaders(
      admin,
      topics.map(({ name }) => topicPrefix + name),
    )
  } finally {
    await admin.disconnect()
  }
}

/** Waits until the brokers know the leaders of new topics. */
const waitForLeaders = async (admin: Admin, topics: string[]): Promise<void> => {
  const deadline = performance.now() + LEADERS_WITHIN_MS
  for (;;) {
    // Also before the first check, because a broker is listed as leader shortly before it acts as one.
    await sleep(LEADERS_CHECK_INTERVAL_MS)
    try {
      await admin.fetchTopicMetadata({ topics })
      return
    } catch (error) {
      if (performance.now() > deadline) throw error
    }
  }
}
