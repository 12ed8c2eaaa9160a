import { setTimeout as sleep } from 'node:timers/promises'
import type { ConsumerGroup } from '@waymark/contracts/topics'
import { within } from '@waymark/contracts/within'
import { connectAdmin, type KafkaClient } from '@waymark/kafka-client'
import type { Admin } from 'kafkajs'
import { BusUnavailableError, type GroupLag } from '../port.ts'

const RETRY_INTERVAL_MS = 100

/**
 * Returns a function that reads the lag of groups from the brokers. It tries again with a new connection until
 * `deadlineMs` have passed, because just after the creation of a topic or a change of leaders brokers refuse to answer.
 */
export const createReadKafkaLag =
  (newClient: () => KafkaClient, { topicPrefix, deadlineMs }: { topicPrefix: string; deadlineMs: number }) =>
  async (groups: readonly ConsumerGroup[]): Promise<GroupLag[]> => {
    const deadline = performance.now() + deadlineMs
    const readOnce = async (): Promise<GroupLag[]> => {
      const admin = await connectAdmin(newClient, { withinMs: deadline - performance.now(), retries: 0 })
      try {
        return await readLags(admin, topicPrefix, groups)
      } finally {
        await admin.disconnect().catch(() => {})
      }
    }
    const readUntilDeadline = async (): Promise<GroupLag[]> => {
      for (;;) {
        try {
          return await readOnce()
        } catch (error) {
          if (performance.now() + RETRY_INTERVAL_MS > deadline)
            throw new BusUnavailableError('Kafka did not answer with the lag of the groups', { cause: error })
          await sleep(RETRY_INTERVAL_MS)
        }
      }
    }
    const late = () => new BusUnavailableError(`Kafka did not answer within ${deadlineMs} ms`)
    return within(deadlineMs, readUntilDeadline(), late)
  }

const readLags = async (
  admin: Admin,
  topicPrefix: string,
  groups: readonly ConsumerGroup[],
): Promise<GroupLag[]> => {
  const topics = [...new Set(groups.map(({ topic }) => topic.name))]
  // Before the offsets, because a new client of kafkajs knows its brokers only after it was asked about a topic.
  const ends = new Map(
    await Promise.all(
      topics.map(async (name) => [name, await admin.fetchTopicOffsets(topicPrefix + name)] as const),
    ),
  )
  return Promise.all(
    groups.map(async ({ group, topic: { name } }) => {
      const [committed] = await admin.fetchOffsets({
        groupId: topicPrefix + group,
        topics: [topicPrefix + name],
      })
      const offsets = new Map(committed?.partitions.map(({ partition, offset }) => [partition, offset]))
      const partitions = (ends.get(name) ?? []).map(({ partition, low, high }) => {
        // The offset is -1 without a commit, and below `low` when retention has deleted unread records.
        const committed = BigInt(offsets.get(partition) ?? -1)
        const oldest = BigInt(low)
        return { partition, next: committed > oldest ? committed : oldest, end: BigInt(high) }
      })
      const lags = partitions.map(({ next, end }) => Number(end - next))
      return { group, topic: name, records: lags.reduce((sum, lag) => sum + Math.max(0, lag), 0), partitions }
    }),
  )
}
