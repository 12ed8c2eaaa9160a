import type { Kafka } from 'kafkajs'
import { BusUnavailableError } from '../port.ts'

const UNKNOWN = -1

/** How many partitions topics have, and which broker leads each, as far as was last heard. */
export const createPartitionLeaders = (createKafka: () => Kafka) => {
  const topics = new Map<string, number[]>()
  const reading = new Map<string, Promise<number[]>>()

  const read = async (topic: string): Promise<number[]> => {
    const admin = createKafka().admin({ retry: { retries: 0 } })
    try {
      await admin.connect()
      const metadata = await admin.fetchTopicMetadata({ topics: [topic] })
      const leaders: number[] = []
      for (const { partitionId, leader } of metadata.topics[0]?.partitions ?? [])
        leaders[partitionId] = leader
      if (leaders.length === 0) throw new Error('there is no such topic')
      topics.set(topic, leaders)
      return leaders
    } catch (error) {
      throw new BusUnavailableError(`cannot read the partitions of ${topic}`, { cause: error })
    } finally {
      reading.delete(topic)
      void admin.disconnect().catch(() => {})
    }
  }

  const readOnce = (topic: string): Promise<number[]> => {
    const underWay = reading.get(topic)
    if (underWay !== undefined) return underWay
    const fresh = read(topic)
    reading.set(topic, fresh)
    return fresh
  }

  return {
    /** As it was first heard: a keyed topic cannot grow without breaking the order of its keys. */
    knownPartitionCount: (topic: string): number | undefined => topics.get(topic)?.length,
    /** Asks the brokers. @throws BusUnavailableError when none answers */
    readPartitionCount: async (topic: string): Promise<number> => (await readOnce(topic)).length,
    leaderOf: (topic: string, partition: number): number => topics.get(topic)?.[partition] ?? UNKNOWN,
    /** Asks again who leads; when no broker answers, what was heard before stands. */
    refresh: async (topic: string): Promise<void> => {
      await readOnce(topic).catch(() => {})
    },
  }
}
