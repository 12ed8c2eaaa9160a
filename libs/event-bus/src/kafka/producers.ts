import type { Producer } from 'kafkajs'
import { connectWithin, type KafkaClient } from './connect.ts'

/**
 * A producer for each leader, with connections of its own: what happens to one does not touch the others.
 * Connects when first needed.
 */
export const createProducers = (newClient: () => KafkaClient) => {
  const producers = new Map<number, Promise<Producer>>()

  const connect = (): Promise<Producer> => {
    const { kafka, connectionMs } = newClient()
    // kafkajs's own retry may resolve a send that was not stored; the batching producer retries instead.
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
     * Does `work` with a leader's producer. One that fails is given up and the next has connections of its own: after a
     * time-out kafkajs goes on asking the same broker, also when another leads by now.
     * @throws what kafkajs throws when the broker does not answer or refuses
     */
    use: async <T>(leader: number, work: (producer: Producer) => Promise<T>): Promise<T> => {
      const mine = get(leader)
      try {
        return await work(await mine)
      } catch (error) {
        if (producers.get(leader) === mine) producers.delete(leader)
        // Nobody waits until it has let go of a broker that may not answer.
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
