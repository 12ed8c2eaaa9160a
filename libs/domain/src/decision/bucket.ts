import murmurhash from 'murmurhash'

/** Into how many buckets people fall: a hundredth of a percent each. */
export const BUCKETS = 10_000

/** What a bucket is for: each purpose has buckets of its own, independent of all others. */
export type BucketPurpose = 'holdout' | 'exclusion' | `rollout:${string}` | `split:${string}`

/**
 * The bucket, from 0 to 9,999, that a subject falls into: MurmurHash3 (x86, 32 bits, seed 0; Austin Appleby) of the
 * UTF-8 bytes of `salt:key:purpose:subject`, modulo 10,000. `docs/bucketing-vectors.json` has examples.
 */
export const bucketOf = (salt: string, key: string, purpose: BucketPurpose, subject: string): number =>
  murmurhash.v3(`${salt}:${key}:${purpose}:${subject}`, 0) % BUCKETS

/** How many buckets a percentage takes, from the first on. It is a whole number for steps of 0.01 percent. */
export const bucketsIn = (percentage: number): number => Math.round(percentage * (BUCKETS / 100))

/**
 * Which part of a weighted list a bucket falls into: the first whose weights up to and with it, as a share of all, are
 * more than the bucket's share of all buckets.
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
