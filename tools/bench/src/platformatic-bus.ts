import { Consumer, MessagesStreamModes, ProduceAcks, Producer, stringSerializers } from '@platformatic/kafka'
import { type Delivery, type EventBus, publishing } from '@waymark/event-bus'

// The same as ours.
const LINGER_MS = 1
const BATCH = 500

type Message = { topic: string; key: string; value: string }
type Waiting = { messages: Message[]; resolve: () => void; reject: (error: unknown) => void }

/**
 * The event bus on `@platformatic/kafka`, only as far as a comparison of clients needs it: batches like ours, one in
 * flight at a time, acknowledged by all replicas; records decoded and validated. Not for production: no retry, no dead
 * letters, no back-pressure beyond the stream's own.
 */
export const createPlatformaticBus = (brokers: string[]): EventBus => {
  const options = { clientId: 'bench-platformatic', bootstrapBrokers: brokers }
  const producer = new Producer({ ...options, serializers: stringSerializers })
  let waiting: Waiting[] = []
  let sending = false

  const flush = async (): Promise<void> => {
    while (waiting.length > 0) {
      const batch = waiting
      waiting = []
      try {
        const messages = batch.flatMap((one) => one.messages)
        await producer.send({ messages, acks: ProduceAcks.ALL, idempotent: false, compression: 'zstd' })
        for (const { resolve } of batch) resolve()
      } catch (error) {
        for (const { reject } of batch) reject(error)
      }
    }
    sending = false
  }

  return {
    ...publishing(
      (topic, records) =>
        new Promise<void>((resolve, reject) => {
          const messages = records.map(({ key, value }) => ({
            topic: topic.name,
            key,
            value,
          }))
          waiting.push({ messages, resolve, reject })
          if (sending) return
          sending = true
          setTimeout(flush, LINGER_MS)
        }),
    ),
    readLag: () => Promise.reject(new Error('the benchmark reads no lag')),
    subscribe: ({ group, topic, handle }) => {
      const consumer = new Consumer<Buffer, Buffer, Buffer, Buffer>({ ...options, groupId: group })
      const stopping = new AbortController()
      let reading: Promise<void> | undefined
      type Value = Parameters<typeof handle>[0][number]['value']

      const read = async (): Promise<void> => {
        const stream = await consumer.consume({
          topics: [topic.name],
          mode: MessagesStreamModes.EARLIEST,
          autocommit: false,
        })
        stopping.signal.addEventListener('abort', () => void stream.close())
        let batch: Delivery<Value>[] = []
        for await (const { partition, offset, key, value } of stream) {
          const decoded: unknown = JSON.parse(value.toString())
          if (!topic.validator.fits(decoded)) throw new Error('a record does not fit its schema')
          batch.push({
            topic: topic.name,
            partition,
            offset,
            key: key?.toString() ?? null,
            value: decoded,
            headers: {},
          })
          if (batch.length < BATCH) continue
          await handle(batch, stopping.signal)
          batch = []
          await consumer.commit({
            offsets: [{ topic: topic.name, partition, offset: offset + 1n, leaderEpoch: -1 }],
          })
        }
      }
      return {
        start: async () => {
          reading = read()
          reading.catch(() => {})
        },
        stop: async () => {
          stopping.abort()
          await reading?.catch(() => {})
          await consumer.close(true)
        },
      }
    },
    close: () => producer.close(),
  }
}
