import murmurhash from 'murmurhash'

const KAFKA_SEED = 0x9747b28c
const POSITIVE = 0x7fffffff

/** The partition of a key as Kafka's Java client computes it: murmur2 of its UTF-8 bytes, modulo `partitions`. */
export const partitionOf = (key: string, partitions: number): number =>
  (murmurhash.v2(Buffer.from(key), KAFKA_SEED) & POSITIVE) % partitions
