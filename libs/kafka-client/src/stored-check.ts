import { BusUnavailableError } from '@waymark/contracts/bus-unavailable-error'
import type { Log } from '@waymark/contracts/log'
import type { Admin, RecordMetadata } from 'kafkajs'
import { connectAdmin, type KafkaClient } from './clients.ts'

/** How long to look for a broker that answers, in ms. */
const CHECK_MS = 4_000

/**
 * Compares the first acknowledged batches of a process with the offsets of their partitions. Were a batch stored as one
 * record, its partition would end before the offset of the batch plus its number of records.
 */
export const createStoredCheck = (newClient: () => KafkaClient, log: Log) => {
  let state: 'unchecked' | 'checking' | 'right' | 'wrong' = 'unchecked'

  const compare = async (topic: string, expected: ReadonlyMap<number, bigint>): Promise<void> => {
    let admin: Admin | undefined
    try {
      admin = await connectAdmin(newClient, { withinMs: CHECK_MS, retries: 0 })
      const ends = new Map(
        (await admin.fetchTopicOffsets(topic)).map(({ partition, high }) => [partition, BigInt(high)]),
      )
      const missing = [...expected].filter(([partition, end]) => (ends.get(partition) ?? 0n) < end)
      state = missing.length === 0 ? 'right' : 'wrong'
      const partitions = missing.map(([partition]) => partition)
      if (state === 'wrong') log.error({ topic, partitions }, 'Kafka stored fewer records than were sent')
    } catch (error) {
      // Without an answer the next batch is checked.
      state = 'unchecked'
      log.debug({ err: error, topic }, 'The stored records could not be compared with those sent')
    } finally {
      void admin?.disconnect().catch(() => {})
    }
  }

  return {
    /** Starts a check, unless one has succeeded or is running. `counts` has the number of records by partition. */
    check: (topic: string, answers: readonly RecordMetadata[], counts: ReadonlyMap<number, number>): void => {
      if (state !== 'unchecked') return
      const expected = new Map<number, bigint>()
      for (const { partition, errorCode, baseOffset } of answers) {
        const count = counts.get(partition) ?? 0
        if (errorCode !== 0 || baseOffset === undefined || count < 2) continue
        expected.set(partition, BigInt(baseOffset) + BigInt(count))
      }
      // A batch of one record would look the same.
      if (expected.size === 0) return
      state = 'checking'
      void compare(topic, expected)
    },
    /** @throws BusUnavailableError when a check found that records were lost */
    requireRight: (): void => {
      if (state === 'wrong') throw new BusUnavailableError('Kafka stored fewer records than were sent')
    },
  }
}
