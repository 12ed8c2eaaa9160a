// Registers Zstandard, which the services use, with kafkajs.
import '@waymark/event-bus'
import { eventually } from '@waymark/testing'
import kafkajs from 'kafkajs'
import type { Fleet } from './fleet.ts'

// A topic may hold more than the limit of one request.
const PRODUCED_AT_ONCE = 200

/** Kafka from an operator's view. Names of topics and groups are without the project's prefix. */
export const openKafka = async ({ env, servers }: Fleet, brokers = servers.kafkaBrokers) => {
  const kafka = new kafkajs.Kafka({ brokers, logLevel: kafkajs.logLevel.NOTHING, retry: { retries: 8 } })
  const admin = kafka.admin()
  const producer = kafka.producer({ allowAutoTopicCreation: false })
  await admin.connect()
  await producer.connect()
  const named = (name: string): string => env.KAFKA_TOPIC_PREFIX + name

  const ends = async (topic: string): Promise<Map<number, bigint>> =>
    new Map(
      (await admin.fetchTopicOffsets(named(topic))).map(({ partition, high }) => [partition, BigInt(high)]),
    )
  const committed = async (group: string, topic: string): Promise<Map<number, bigint>> => {
    const [offsets] = await admin.fetchOffsets({ groupId: named(group), topics: [named(topic)] })
    return new Map(
      (offsets?.partitions ?? []).map(({ partition, offset }) => [
        partition,
        BigInt(Math.max(0, Number(offset))),
      ]),
    )
  }
  return {
    ends,
    committed,
    /** The number of records of a topic that a group has not committed. */
    lag: async (group: string, topic: string): Promise<number> => {
      const [high, done] = await Promise.all([ends(topic), committed(group, topic)])
      return [...high].reduce((sum, [partition, end]) => sum + Number(end - (done.get(partition) ?? 0n)), 0)
    },
    produce: async (topic: string, messages: kafkajs.Message[]): Promise<kafkajs.RecordMetadata[]> => {
      const stored: kafkajs.RecordMetadata[] = []
      for (let start = 0; start < messages.length; start += PRODUCED_AT_ONCE)
        stored.push(
          ...(await producer.send({
            topic: named(topic),
            messages: messages.slice(start, start + PRODUCED_AT_ONCE),
          })),
        )
      return stored
    },
    /** Resets a group without members to the oldest record. */
    rewind: (group: string, topic: string) =>
      eventually('the group has no members and is rewound', async () => {
        await admin.setOffsets({
          groupId: named(group),
          topic: named(topic),
          partitions: [...(await ends(topic)).keys()].map((partition) => ({ partition, offset: '0' })),
        })
        return true
      }),
    /** All current records of a topic. */
    readAll: async (topic: string): Promise<kafkajs.Message[]> => {
      const waiting = await ends(topic)
      const messages: kafkajs.Message[] = []
      const consumer = kafka.consumer({ groupId: named(`reader-${Date.now()}`) })
      await consumer.connect()
      await consumer.subscribe({ topics: [named(topic)], fromBeginning: true })
      const total = [...waiting.values()].reduce((sum, end) => sum + Number(end), 0)
      await consumer.run({
        eachMessage: async ({ message: { key, value } }) => {
          messages.push({ key, value })
        },
      })
      await eventually('the topic is read', () => messages.length >= total)
      await consumer.disconnect()
      return messages
    },
    /** Moves the leader of every partition of a topic to another broker. Returns the number of moved partitions. */
    moveLeaders: async (topic: string): Promise<number> => {
      const leaders = async () => {
        const { topics } = await admin.fetchTopicMetadata({ topics: [named(topic)] })
        return topics[0]?.partitions ?? []
      }
      const before = await leaders()
      const assign = (replicasOf: (partition: (typeof before)[number]) => number[]) =>
        admin.alterPartitionReassignments({
          topics: [
            {
              topic: named(topic),
              partitionAssignment: before.map((partition) => ({
                partition: partition.partitionId,
                replicas: replicasOf(partition),
              })),
            },
          ],
        })
      await assign(({ replicas, leader }) => replicas.filter((replica) => replica !== leader))
      const moved = await eventually('the leaders move', async () => {
        const now = await leaders()
        const count = now.filter(
          ({ partitionId, leader }) =>
            before.find((other) => other.partitionId === partitionId)?.leader !== leader,
        ).length
        return count === before.length && count
      })
      await assign(({ replicas, leader }) => [...replicas.filter((replica) => replica !== leader), leader])
      return moved
    },
    close: async () => {
      await producer.disconnect()
      await admin.disconnect()
    },
  }
}
