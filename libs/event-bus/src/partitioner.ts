import murmurhash from 'murmurhash'
import { type RecordKey, textOfKey } from './port.ts'
import { MAX_UNIT_BYTES } from './utf8.ts'

const KAFKA_SEED = 0x9747b28c
const POSITIVE = 0x7fffffff

// To allocate bytes for each key would take longer than to hash them.
const scratch = Buffer.alloc(4_096)
const beginnings: Buffer[] = []

/** The partition of a key, as the Java clients compute it: murmur2 of its UTF-8 bytes, modulo the number of partitions. */
export const partitionOf = (key: Uint8Array, partitions: number): number =>
  (murmurhash.v2(key, KAFKA_SEED) & POSITIVE) % partitions

// The project whose id the scratch begins with, and how many bytes that takes with its colon.
let writtenProject: string | undefined
let writtenBytes = 0

/** The UTF-8 bytes of a key, until those of the next one are asked for. */
export const keyBytesOf = (key: RecordKey): Uint8Array => {
  if (typeof key === 'string') return bytesOfText(key)
  const { projectId, id } = key
  if ((projectId.length + 1 + id.length) * MAX_UNIT_BYTES > scratch.length) return Buffer.from(textOfKey(key))
  if (projectId !== writtenProject) {
    writtenProject = projectId
    writtenBytes = scratch.write(`${projectId}:`)
  }
  return firstBytes(writtenBytes + scratch.write(id, writtenBytes))
}

const bytesOfText = (key: string): Uint8Array => {
  if (key.length * MAX_UNIT_BYTES > scratch.length) return Buffer.from(key)
  writtenProject = undefined
  return firstBytes(scratch.write(key))
}

const firstBytes = (length: number): Uint8Array => {
  beginnings[length] ??= scratch.subarray(0, length)
  return beginnings[length]
}
