import type { Bucketing } from '@waymark/contracts/decision-definition'
import murmurhash from 'murmurhash'

/** Number of buckets. Each is a hundredth of a percent. */
export const BUCKETS = 10_000

/** The purpose of a bucket. The buckets of different purposes are independent. */
export type BucketPurpose = 'holdout' | 'exclusion' | `rollout:${string}` | `split:${string}`

/**
 * The bucket of a subject, from 0 to 9,999: MurmurHash3 (x86, 32 bits, seed 0; Austin Appleby) of the
 * UTF-8 bytes of `salt:key:purpose:subject`, modulo 10,000. `docs/bucketing-vectors.json` has examples.
 */
export const bucketOf = (salt: string, key: string, purpose: BucketPurpose, subject: string): number =>
  // The library encodes a string three times slower than it hashes it.
  murmurhash.v3(Buffer.from(`${bucketPrefix(salt, key, purpose)}${subject}`), 0) % BUCKETS

/** What is hashed before the subject. */
export const bucketPrefix = (salt: string, key: string, purpose: BucketPurpose): string =>
  `${salt}:${key}:${purpose}:`

/**
 * The bucket of a text in `fractional` of flagd with weights that add up to `total`, from 0 to `total - 1`: the hash of the
 * text, times `total`, divided by 2³² and rounded down.
 */
export const flagdBucketOf = (bucketing: Bucketing, text: string, total: number): number => {
  const hash = bucketing === 'flagd' ? hashUtf16(text) : murmurhash.v3(cborText(text), 0)
  // In two parts, because the product may exceed the integers of a number.
  const low = Math.floor(((hash & 0xffff) * total) / 0x1_0000)
  return Math.floor(((hash >>> 16) * total + low) / 0x1_0000)
}

/** The text of RFC 8949 in its shortest form. */
const cborText = (text: string): Buffer => {
  const bytes = Buffer.from(text)
  const { length } = bytes
  if (length < 24) return Buffer.concat([Buffer.of(0x60 | length), bytes])
  if (length < 0x100) return Buffer.concat([Buffer.of(0x78, length), bytes])
  return Buffer.concat([Buffer.of(0x79, length >> 8, length & 0xff), bytes])
}

/**
 * MurmurHash3 of UTF-16 code units in place of bytes, as the library of flagd's provider for JavaScript (imurmurhash) has it.
 * For ASCII it is the hash of the bytes.
 */
const hashUtf16 = (text: string): number => {
  const whole = text.length & ~3
  let hash = 0
  for (let index = 0; index < whole; index += 4) {
    const last = text.charCodeAt(index + 3)
    hash ^= mix(firstThree(text, index) ^ ((last & 0xff) << 24) ^ (last >> 8))
    hash = (Math.imul((hash << 13) | (hash >>> 19), 5) + 0xe654_6b64) | 0
  }
  const rest = firstThree(text, whole)
  // The library leaves out a negative rest.
  if (rest > 0) hash ^= mix(rest)
  hash ^= text.length
  hash = Math.imul(hash ^ (hash >>> 16), 0x85eb_ca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2_ae35)
  return (hash ^ (hash >>> 16)) >>> 0
}

/** Up to three code units from an index on, each shifted by a byte more than the one before. */
const firstThree = (text: string, index: number): number => {
  let block = 0
  // `charCodeAt` is NaN behind the end, which shifts as 0.
  for (let n = 0; n < 3; n++) block ^= text.charCodeAt(index + n) << (8 * n)
  return block
}

const mix = (block: number): number => {
  const mixed = Math.imul(block, 0xcc9e_2d51)
  return Math.imul((mixed << 15) | (mixed >>> 17), 0x1b87_3593)
}

/** The number of buckets of a percentage. It is an integer for steps of 0.01 percent. */
export const bucketsIn = (percentage: number): number => Math.round(percentage * (BUCKETS / 100))

/** The sum of the weights of a list. */
export const totalOf = (shares: readonly { weight: number }[]): number =>
  shares.reduce((sum, { weight }) => sum + weight, 0)

/**
 * The entry of a weighted list for a bucket of `buckets`: the first whose cumulative share of the weights exceeds the
 * bucket's share of all buckets.
 */
export const shareOf = <T extends { weight: number }>(
  shares: readonly T[],
  bucket: number,
  buckets: number = BUCKETS,
): T | undefined => {
  const total = totalOf(shares)
  let upTo = 0
  for (const share of shares) {
    upTo += share.weight
    if (bucket * total < upTo * buckets) return share
  }
  return undefined
}
