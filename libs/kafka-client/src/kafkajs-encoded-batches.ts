import { createRequire } from 'node:module'

const require = createRequire(import.meta.url)

type Encoder = {
  writeString(text: string | null): Encoder
  writeInt16(value: number): Encoder
  writeInt32(value: number): Encoder
  writeBuffer(bytes: Buffer): Encoder
}
type Partition = { partition: number; messages: { value: unknown }[] }
type ProduceRequest = {
  acks: number
  timeout: number
  topicData: { topic: string; partitions: Partition[] }[]
}
type EncodedRequest = { encode: () => Promise<Encoder> }

const batches = new WeakSet<Buffer>()

/**
 * Patches kafkajs 2.2.4 so that a producer sends batches that are already encoded, each as the value of a partition's
 * only message. Its own encoder groups messages in quadratic time and creates several objects for each.
 */
export const sendEncodedBatches = (): void => {
  const Encoder = require('kafkajs/src/protocol/encoder.js') as new (size: number) => Encoder
  // Later versions of the request build on this one and are loaded with the first request.
  const path = require.resolve('kafkajs/src/protocol/requests/produce/v3/request.js')
  const own = require(path) as (request: ProduceRequest) => EncodedRequest
  const withBatches = (request: ProduceRequest): EncodedRequest => {
    const sent = request.topicData.flatMap(({ partitions }) => partitions.map(batchOf))
    if (sent.some((batch) => batch === undefined)) return own(request)
    return { ...own(request), encode: async () => encode(request, new Encoder(sizeOf(request, sent))) }
  }
  const loaded = require.cache[path]
  if (loaded) loaded.exports = withBatches
}

/** Marks a record batch to be sent unchanged. */
export const asEncoded = (batch: Buffer): Buffer => {
  batches.add(batch)
  return batch
}

const batchOf = ({ messages: [message, ...others] }: Partition): Buffer | undefined => {
  const value = message?.value
  return others.length === 0 && Buffer.isBuffer(value) && batches.has(value) ? value : undefined
}

const sizeOf = ({ topicData }: ProduceRequest, sent: readonly (Buffer | undefined)[]): number =>
  sent.reduce((sum, batch) => sum + 8 + (batch?.length ?? 0), 16) +
  topicData.reduce((sum, { topic }) => sum + 6 + Buffer.byteLength(topic), 0)

const encode = ({ acks, timeout, topicData }: ProduceRequest, encoder: Encoder): Encoder => {
  // No transaction.
  encoder.writeString(null).writeInt16(acks).writeInt32(timeout).writeInt32(topicData.length)
  for (const { topic, partitions } of topicData) {
    encoder.writeString(topic).writeInt32(partitions.length)
    for (const entry of partitions) {
      const batch = batchOf(entry)
      if (batch) encoder.writeInt32(entry.partition).writeInt32(batch.length).writeBuffer(batch)
    }
  }
  return encoder
}
