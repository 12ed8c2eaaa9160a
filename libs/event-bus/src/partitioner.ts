import { Partitioners, type PartitionMetadata } from 'kafkajs'

const murmur2Partitioner = Partitioners.DefaultPartitioner()

/** The partition of a key, as the Java clients compute it: murmur2 modulo the number of partitions. */
export const partitionOf = (key: string, partitions: number): number =>
  murmur2Partitioner({
    topic: '',
    // Only its length matters for a record with a key.
    partitionMetadata: new Array<PartitionMetadata>(partitions),
    message: { key, value: null },
  })
