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
  murmurhash.v3(Buffer.from(`${salt}:${key}:${purpose}:${subject}`), 0) % BUCKETS

/** The number of buckets of a percentage. It is an integer for steps of 0.01 percent. */
export const bucketsIn = (percentage: number): number => Math.round(percentage * (BUCKETS / 100))

/**
 * The index of the entry of a weighted list for a bucket: the first whose cumulative share of the weights exceeds the
 * bucket's share of all buckets.
 */
export const shareOf = <T extends { weight: number }>(
  shares: readonly T[],
  bucket: number,
): T | undefined => {
  const total = shares.reduce((sum, { weight }) => sum + weight, 0)
  let upTo = 0
  for (const share of shares) {
    upTo += share.weight
    if (bucket * total < upTo * BUCKETS) return share
  }
  return undefined
}
