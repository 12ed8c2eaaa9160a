import type { Admin } from 'kafkajs'
import pTimeout from 'p-timeout'
import { BusUnavailableError } from '../port.ts'
import { connectAdmin, type KafkaClient } from './connect.ts'

const UNKNOWN = -1

/** How many partitions topics have, and which broker leads each, as far as was last heard. */
export const createPartitionLeaders = (newClient: () => KafkaClient) => {
  const topics = new Map<string, number[]>()
  const reading = new Map<string, Promise<number[]>>()

  const read = async (topic: string, withinMs: number): Promise<number[]> => {
    let admin: Admin | undefined
    try {
      admin = await connectAdmin(newClient, { withinMs, retries: 0 })
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
      void admin?.disconnect().catch(() => {})
    }
  }

  const readOnce = (topic: string, withinMs: number): Promise<number[]> => {
    const underWay = reading.get(topic)
    if (underWay !== undefined) return underWay
    const fresh = read(topic, withinMs)
    reading.set(topic, fresh)
    return fresh
  }

  return {
    /** As it was first heard: a keyed topic cannot grow without breaking the order of its keys. */
    knownPartitionCount: (topic: string): number | undefined => topics.get(topic)?.length,
    /** Asks one broker after another. @throws BusUnavailableError when none has answered in so many ms */
    readPartitionCount: async (topic: string, withinMs: number): Promise<number> =>
      (await pTimeout(readOnce(topic, withinMs), { milliseconds: withinMs, fallback: tooLate })).length,
    leaderOf: (topic: string, partition: number): number => topics.get(topic)?.[partition] ?? UNKNOWN,
    /** Asks one broker who leads by now; when it does not answer, what was heard before stands. */
    refresh: async (topic: string): Promise<void> => {
      await readOnce(topic, 0).catch(() => {})
    },
  }
}

const tooLate = (): never => {
  throw new BusUnavailableError('no broker tells the partitions of a topic in time')
}
