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

// The scope that the scratch begins with, with its colon, and the bytes of both.
let scope: string | undefined
let scopeBytes = 0

/** The UTF-8 bytes of a key, until those of the next one are asked for. */
export const keyBytesOf = (key: RecordKey): Uint8Array => {
  if (typeof key === 'string') return bytesOfText(key)
  if ((key.scope.length + 1 + key.id.length) * MAX_UNIT_BYTES > scratch.length)
    return Buffer.from(textOfKey(key))
  if (key.scope !== scope) {
    scope = key.scope
    scopeBytes = scratch.write(`${scope}:`)
  }
  return firstBytes(scopeBytes + scratch.write(key.id, scopeBytes))
}

const bytesOfText = (key: string): Uint8Array => {
  if (key.length * MAX_UNIT_BYTES > scratch.length) return Buffer.from(key)
  scope = undefined
  return firstBytes(scratch.write(key))
}

const firstBytes = (length: number): Uint8Array => {
  beginnings[length] ??= scratch.subarray(0, length)
  return beginnings[length]
}
