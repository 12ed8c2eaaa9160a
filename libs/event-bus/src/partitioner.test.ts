import fc from 'fast-check'
import { Partitioners, type PartitionMetadata } from 'kafkajs'
import { describe, expect, it } from 'vitest'
import { keyBytesOf, partitionOf } from './partitioner.ts'
import { type RecordKey, textOfKey } from './port.ts'

const kafkajsPartitioner = Partitioners.DefaultPartitioner()
const byKafkajs = (key: string, partitions: number): number =>
  kafkajsPartitioner({
    topic: '',
    // Only its length matters for a record with a key.
    partitionMetadata: new Array<PartitionMetadata>(partitions),
    message: { key, value: null },
  })

const key = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 100 }),
  fc.uuid(),
  // As long as fits the buffer that is used again, and longer.
  fc
    .tuple(fc.constantFrom('a', 'ü', '界'), fc.integer({ min: 1_300, max: 1_400 }))
    .map(([unit, length]) => unit.repeat(length)),
)

describe('partitionOf', () => {
  it('agrees with every other Kafka client about any key', () => {
    fc.assert(
      fc.property(key, fc.integer({ min: 1, max: 1_000 }), (text, partitions) => {
        expect(partitionOf(keyBytesOf(text), partitions)).toBe(byKafkajs(text, partitions))
      }),
      { numRuns: 2_000 },
    )
  })
})

describe('the bytes of a key', () => {
  it('are those of its text, in whatever order keys of one part and of two come', () => {
    // Few projects, so that one often follows upon itself.
    const projectId = fc.oneof(fc.constantFrom('', 'a', 'project-1', 'ü:'), key)
    const anyKey: fc.Arbitrary<RecordKey> = fc.oneof(key, fc.record({ projectId, id: key }))
    fc.assert(
      fc.property(fc.array(anyKey, { maxLength: 10 }), (keys) => {
        const texts = keys.map((one) => Buffer.from(keyBytesOf(one)).toString())
        expect(texts).toEqual(keys.map((one) => Buffer.from(textOfKey(one)).toString()))
      }),
      { numRuns: 1_000 },
    )
  })
})
