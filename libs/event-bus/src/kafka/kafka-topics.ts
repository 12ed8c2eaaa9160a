import { setTimeout as sleep } from 'node:timers/promises'
import type { Log } from '@waymark/contracts/log'
import { PUBLISH_DEADLINE_MS } from '@waymark/contracts/request-budget'
import type { Topic } from '@waymark/contracts/topics'
import { connectAdmin, createKafkaClients } from '@waymark/kafka-client'
import kafkajs, { type Admin } from 'kafkajs'
import type { KafkaOptions } from './kafka-event-bus.ts'

// Long, because the first handshake of a broker that has just started is slow.
const CONNECTION_MS = 10_000
const CONNECT_WITHIN_MS = 30_000
const LEADERS_WITHIN_MS = 30_000
const LEADERS_CHECK_INTERVAL_MS = 100

/** `retentionBytes` limits each partition; older records are deleted even if a group has not read them. */
export type TopicOptions = { partitions: number; replication: number; retentionBytes?: number | undefined }

/**
 * Creates the topics that do not exist yet, and gives existing ones the retention and message size of their contract.
 * Their partitions, replicas and other settings stay. If the user may not change topics, that is logged.
 * @throws when the cluster cannot be reached
 */
export const ensureKafkaTopics = async (
  options: KafkaOptions,
  topics: readonly Topic<unknown>[],
  { partitions, replication, retentionBytes }: TopicOptions,
  log: Log,
): Promise<void> => {
  const { topicPrefix = '', publishDeadlineMs = PUBLISH_DEADLINE_MS } = options
  const timeouts = { connectionMs: CONNECTION_MS, requestMs: publishDeadlineMs }
  const newClient = createKafkaClients(options, timeouts, log)
  const admin = await connectAdmin(newClient, { withinMs: CONNECT_WITHIN_MS, retries: 8 })
  try {
    const wanted = topics.map(({ name, retentionMs, maxMessageBytes }) => ({
      topic: topicPrefix + name,
      settings: {
        'retention.ms': `${retentionMs}`,
        'max.message.bytes': `${maxMessageBytes}`,
        ...(retentionBytes !== undefined && sizeSettings(retentionBytes, maxMessageBytes)),
      },
    }))
    await admin.createTopics({
      waitForLeaders: false,
      topics: wanted.map(({ topic, settings }) => ({
        topic,
        numPartitions: partitions,
        replicationFactor: replication,
        configEntries: toEntries({
          ...settings,
          'min.insync.replicas': `${Math.max(1, replication - 1)}`,
        }),
      })),
    })
    // The brokers know new topics and their leaders a moment later, each at another time.
    await repeatUntilDone(() => admin.fetchTopicMetadata({ topics: wanted.map(({ topic }) => topic) }))
    await repeatUntilDone(() =>
      changeSettings(admin, wanted, log).catch((error: unknown) => {
        // Earlier versions did not need this privilege.
        if (!isDenied(error)) throw error
        log.warn({ err: error }, 'Settings of Kafka topics could not be checked or changed')
      }),
    )
  } finally {
    await admin.disconnect()
  }
}

/** Kafka's own size of a segment. */
const SEGMENT_BYTES = 1024 ** 3

/**
 * Settings that keep a partition within `retentionBytes`. Kafka deletes a segment when the others hold `retention.bytes`,
 * so a partition is up to one segment larger. A segment has room for the largest batch.
 */
const sizeSettings = (retentionBytes: number, maxMessageBytes: number): Settings => {
  const segmentBytes = Math.min(SEGMENT_BYTES, Math.max(maxMessageBytes, Math.floor(retentionBytes / 8)))
  return {
    'retention.bytes': `${Math.max(0, retentionBytes - segmentBytes)}`,
    'segment.bytes': `${segmentBytes}`,
  }
}

/** Repeats what fails for up to `LEADERS_WITHIN_MS`. @throws the last error */
const repeatUntilDone = async (work: () => Promise<unknown>): Promise<void> => {
  const deadline = performance.now() + LEADERS_WITHIN_MS
  for (;;) {
    // Also before the first attempt, because a broker is listed as leader shortly before it acts as one.
    await sleep(LEADERS_CHECK_INTERVAL_MS)
    try {
      await work()
      return
    } catch (error) {
      if (performance.now() > deadline) throw error
    }
  }
}

type Settings = Record<string, string>
type WantedTopic = { topic: string; settings: Settings }

const toEntries = (settings: Settings) => Object.entries(settings).map(([name, value]) => ({ name, value }))

const isDenied = (error: unknown): boolean =>
  /_AUTHORIZATION_FAILED$/.test(String((error as { type?: unknown } | null)?.type))

/** The source of a setting that was made for the topic. */
const TOPIC_CONFIG = 1

/** Changes the settings of topics that differ. */
const changeSettings = async (admin: Admin, wanted: readonly WantedTopic[], log: Log): Promise<void> => {
  const type = kafkajs.ConfigResourceTypes.TOPIC
  const { resources } = await admin.describeConfigs({
    includeSynonyms: false,
    resources: wanted.map(({ topic }) => ({ type, name: topic })),
  })
  const changed = wanted.flatMap(({ topic, settings }) => {
    const found = resources.find(({ resourceName }) => resourceName === topic)?.configEntries ?? []
    const own: Settings = Object.fromEntries(
      found
        .filter(({ configSource }) => Number(configSource) === TOPIC_CONFIG)
        .map(({ configName, configValue }) => [configName, configValue]),
    )
    const differing = Object.entries(settings).filter(([name, value]) => own[name] !== value)
    if (differing.length === 0) return []
    log.info({ topic, settings: Object.fromEntries(differing) }, 'Changing settings of a Kafka topic')
    // The request replaces all settings of the topic.
    return [{ type, name: topic, configEntries: toEntries({ ...own, ...settings }) }]
  })
  if (changed.length > 0) await admin.alterConfigs({ validateOnly: false, resources: changed })
}
