import { BusUnavailableError } from '@waymark/contracts/bus-unavailable-error'
import type { Admin } from 'kafkajs'
import murmurhash from 'murmurhash'
import pTimeout from 'p-timeout'
import { connectAdmin, type KafkaClient } from './clients.ts'

const KAFKA_SEED = 0x9747b28c
const POSITIVE = 0x7fffffff

/** The partition of a key as Kafka's Java client computes it: murmur2 of its bytes, modulo `partitions`. */
export const partitionOf = (key: Uint8Array, partitions: number): number =>
  (murmurhash.v2(key, KAFKA_SEED) & POSITIVE) % partitions

const UNKNOWN = -1

/** The number of partitions of topics and the leader of each, as last read. */
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
      if (leaders.length === 0) throw new Error('The topic does not exist')
      topics.set(topic, leaders)
      return leaders
    } catch (error) {
      throw new BusUnavailableError(`Cannot read the partitions of ${topic}`, { cause: error })
    } finally {
      reading.delete(topic)
      void admin?.disconnect().catch(() => {})
    }
  }

  const readOnce = (topic: string, withinMs: number): Promise<number[]> => {
    const inFlight = reading.get(topic)
    if (inFlight !== undefined) return inFlight
    const fresh = read(topic, withinMs)
    reading.set(topic, fresh)
    return fresh
  }

  return {
    /** As first read: a keyed topic cannot grow without breaking the order of its keys. */
    knownPartitionCount: (topic: string): number | undefined => topics.get(topic)?.length,
    /** Asks one broker after another. @throws BusUnavailableError when none has answered within `withinMs` */
    readPartitionCount: async (topic: string, withinMs: number): Promise<number> =>
      (await pTimeout(readOnce(topic, withinMs), { milliseconds: withinMs, fallback: tooLate })).length,
    leaderOf: (topic: string, partition: number): number => topics.get(topic)?.[partition] ?? UNKNOWN,
    /** Reads the leaders again from one broker. Keeps the old ones when it does not answer. */
    refresh: async (topic: string): Promise<void> => {
      await readOnce(topic, 0).catch(() => {})
    },
  }
}

const tooLate = (): never => {
  throw new BusUnavailableError('No broker returned the partitions of the topic in time')
}
