import type { Producer } from 'kafkajs'
import type { KafkaClient } from './clients.ts'
import { connectWithin } from './connect.ts'

/**
 * One kafkajs producer for each leader, with its own connections, so that a failure of one does not affect the others.
 * Connects when first needed.
 */
export const createProducers = (newClient: () => KafkaClient) => {
  const producers = new Map<number, Promise<Producer>>()

  const connect = (): Promise<Producer> => {
    const { kafka, connectionMs } = newClient()
    // The retry of kafkajs may resolve a send that was not stored. The batching producer retries instead.
    const producer = kafka.producer({
      idempotent: false,
      allowAutoTopicCreation: false,
      retry: { retries: 0 },
    })
    return connectWithin(connectionMs, producer)
  }

  const get = (leader: number): Promise<Producer> => {
    const known = producers.get(leader)
    if (known !== undefined) return known
    const connecting = connect()
    producers.set(leader, connecting)
    return connecting
  }

  return {
    /**
     * Runs `work` with a leader's producer. A producer that fails is replaced: after a timeout kafkajs keeps asking the
     * same broker, even if another one leads by now.
     * @throws what kafkajs throws when the broker does not answer or refuses
     */
    use: async <T>(leader: number, work: (producer: Producer) => Promise<T>): Promise<T> => {
      const mine = get(leader)
      try {
        return await work(await mine)
      } catch (error) {
        if (producers.get(leader) === mine) producers.delete(leader)
        // Disconnecting from a broker that hangs takes long, so do not await it.
        void mine.then((producer) => producer.disconnect()).catch(() => {})
        throw error
      }
    },
    close: async (): Promise<void> => {
      const connected = await Promise.allSettled(producers.values())
      await Promise.all(
        connected.map((result) => (result.status === 'fulfilled' ? result.value.disconnect() : undefined)),
      )
    },
  }
}
