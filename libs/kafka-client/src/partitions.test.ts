import fc from 'fast-check'
import { Partitioners, type PartitionMetadata } from 'kafkajs'
import { describe, expect, it } from 'vitest'
import { partitionOf } from './partitions.ts'

const kafkajsPartitioner = Partitioners.DefaultPartitioner()
const byKafkajs = (key: string, partitions: number): number =>
  kafkajsPartitioner({
    topic: '',
    // With a key, only the number of partitions matters.
    partitionMetadata: new Array<PartitionMetadata>(partitions),
    message: { key, value: null },
  })

const key = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 100 }),
  fc.uuid(),
  fc
    .tuple(fc.constantFrom('a', 'ü', '界'), fc.integer({ min: 1_300, max: 1_400 }))
    .map(([unit, length]) => unit.repeat(length)),
)

describe('partitionOf', () => {
  it('equals other Kafka clients for any key', () => {
    fc.assert(
      fc.property(key, fc.integer({ min: 1, max: 1_000 }), (text, partitions) => {
        expect(partitionOf(Buffer.from(text), partitions)).toBe(byKafkajs(text, partitions))
      }),
      { numRuns: 2_000 },
    )
  })
})
