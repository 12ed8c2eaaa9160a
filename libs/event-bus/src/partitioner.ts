import murmurhash from 'murmurhash'
import { MAX_UNIT_BYTES } from './utf8.ts'

const KAFKA_SEED = 0x9747b28c
const POSITIVE = 0x7fffffff

// To allocate bytes for each key would take longer than to hash them.
const scratch = Buffer.alloc(4_096)
const beginnings: Buffer[] = []

/** The partition of a key, as the Java clients compute it: murmur2 of its UTF-8 bytes, modulo the number of partitions. */
export const partitionOf = (key: Uint8Array, partitions: number): number =>
  (murmurhash.v2(key, KAFKA_SEED) & POSITIVE) % partitions

/** The UTF-8 bytes of a key, until those of the next one are asked for. */
export const keyBytesOf = (key: string): Uint8Array => {
  if (key.length * MAX_UNIT_BYTES > scratch.length) return Buffer.from(key)
  const length = scratch.write(key)
  beginnings[length] ??= scratch.subarray(0, length)
  return beginnings[length]
}
