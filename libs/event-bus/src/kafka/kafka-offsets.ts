import type { Log } from '@waymark/contracts/log'
import { PUBLISH_DEADLINE_MS } from '@waymark/contracts/request-budget'
import type { ConsumerGroup } from '@waymark/contracts/topics'
import { connectAdmin, createKafkaClients } from '@waymark/kafka-client'
import type { KafkaOptions } from './kafka-event-bus.ts'

const CONNECTION_MS = 10_000
const CONNECT_WITHIN_MS = 30_000

/** A group whose offsets were set, with the number of records that it has to read now. */
export type MovedGroup = { group: string; topic: string; records: number }

/**
 * Sets the offsets of groups without members: to the first record of a time or later, or to the end of their topics.
 * @throws when a group has members, so that its consumers must be stopped first
 */
export const moveKafkaGroups = async (
  options: KafkaOptions,
  groups: readonly ConsumerGroup[],
  to: Date | 'end',
  log: Log,
): Promise<MovedGroup[]> => {
  const { topicPrefix = '', publishDeadlineMs = PUBLISH_DEADLINE_MS } = options
  const timeouts = { connectionMs: CONNECTION_MS, requestMs: publishDeadlineMs }
  const newClient = createKafkaClients(options, timeouts, log)
  const admin = await connectAdmin(newClient, { withinMs: CONNECT_WITHIN_MS, retries: 8 })
  try {
    const moved: MovedGroup[] = []
    for (const { group, topic } of groups) {
      const [groupId, name] = [topicPrefix + group, topicPrefix + topic.name]
      const ends = await admin.fetchTopicOffsets(name)
      const partitions =
        to === 'end'
          ? ends.map(({ partition, high: offset }) => ({ partition, offset }))
          : await admin.fetchTopicOffsetsByTimestamp(name, to.getTime())
      await admin.setOffsets({ groupId, topic: name, partitions })
      const high = new Map(ends.map((end) => [end.partition, Number(end.high)]))
      const records = partitions.reduce(
        (sum, { partition, offset }) => sum + Math.max(0, (high.get(partition) ?? 0) - Number(offset)),
        0,
      )
      moved.push({ group, topic: topic.name, records })
    }
    return moved
  } finally {
    await admin.disconnect()
  }
}
