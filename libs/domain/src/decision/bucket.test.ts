import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import jstat from 'jstat'
import murmurhash from 'murmurhash'
import { describe, expect, it } from 'vitest'
import { BUCKETS, type BucketPurpose, bucketOf, bucketsIn, shareOf } from './bucket.ts'

type Vectors = {
  hashes: { text: string; seed: number; hash: number }[]
  buckets: {
    salt: string
    key: string
    purpose: BucketPurpose
    subject: string
    hash: number
    bucket: number
  }[]
}
const vectors = JSON.parse(
  readFileSync(new URL('../../../../docs/bucketing-vectors.json', import.meta.url), 'utf8'),
) as Vectors

/** `npm run test:chaos` sets the variable. This package cannot import `extent`, because `@waymark/testing` imports it. */
const SUBJECTS = process.env.CHAOS === 'whole' ? 100_000 : 20_000

/** The probability of a chi-square statistic this large or larger if all cells were equally likely. */
const uniformity = (cells: readonly number[]): number => {
  const expected = cells.reduce((sum, n) => sum + n, 0) / cells.length
  const statistic = cells.reduce((sum, n) => sum + (n - expected) ** 2 / expected, 0)
  return 1 - jstat.jStat.chisquare.cdf(statistic, cells.length - 1)
}
const subjects = (count: number, name: (n: number) => string): string[] =>
  Array.from({ length: count }, (_, n) => name(n))
const key = fc.stringMatching(/^[A-Za-z0-9][A-Za-z0-9_.-]{0,20}$/)

describe('the hash', () => {
  it.each(vectors.hashes)('of $text with the seed $seed is $hash', ({ text, seed, hash }) => {
    expect(murmurhash.v3(text, seed)).toBe(hash)
  })
})

describe('a bucket', () => {
  it(`equals ${vectors.buckets.length} published examples`, () => {
    expect(vectors.buckets.length).toBeGreaterThan(100)
    for (const { salt, key, purpose, subject, bucket } of vectors.buckets)
      expect(bucketOf(salt, key, purpose, subject)).toBe(bucket)
  })

  it.each([1_000, 1_300, 1_400, 5_000])('hashes the whole subject, also one of %i characters', (length) => {
    const subject = '用'.repeat(length)
    const hash = murmurhash.v3(`s:k:holdout:${subject}`, 0)
    expect(bucketOf('s', 'k', 'holdout', subject)).toBe(hash % BUCKETS)
    expect(bucketOf('s', 'k', 'holdout', 'short')).toBe(murmurhash.v3('s:k:holdout:short', 0) % BUCKETS)
  })

  it('is a stable integer from 0 to 9,999 for any subject', () => {
    fc.assert(
      fc.property(key, key, fc.string({ unit: 'binary' }), (salt, name, subject) => {
        const bucket = bucketOf(salt, name, 'holdout', subject)
        expect(Number.isInteger(bucket) && bucket >= 0 && bucket < BUCKETS).toBe(true)
        expect(bucketOf(salt, name, 'holdout', subject)).toBe(bucket)
      }),
    )
  })

  // The samples are fixed, so the result is deterministic: a p-value below 0.001 would be bad luck or a bad hash.
  it.each([
    ['numbered', (n: number) => `visitor-${n}`],
    ['emails', (n: number) => `jürgen.${n}@example.com`],
    ['random-looking', (n: number) => murmurhash.v3(`${n}`, 7).toString(36)],
  ])('is uniformly distributed: %s', (_what, name) => {
    for (const purpose of ['holdout', 'rollout:r1', 'split:r1'] as const) {
      const cells = Array.from({ length: 100 }, () => 0)
      for (const subject of subjects(SUBJECTS, name)) {
        const cell = Math.floor(bucketOf('salt', 'key', purpose, subject) / 100)
        cells[cell] = (cells[cell] ?? 0) + 1
      }
      expect(uniformity(cells)).toBeGreaterThan(0.001)
    }
  })

  type Parts = [salt: string, key: string, purpose: BucketPurpose]
  it.each<[string, Parts, Parts]>([
    ['of another decision', ['salt', 'one', 'rollout:r'], ['salt', 'two', 'rollout:r']],
    ['with another salt', ['salt', 'one', 'rollout:r'], ['pepper', 'one', 'rollout:r']],
    ['for another purpose', ['salt', 'one', 'rollout:r'], ['salt', 'one', 'split:r']],
    ['of another rule', ['salt', 'one', 'split:r1'], ['salt', 'one', 'split:r2']],
  ])('is independent of the one %s', (_what, one, other) => {
    // Together they fall into a grid of 10 by 10 cells, all equally often.
    const cells = Array.from({ length: 100 }, () => 0)
    for (const subject of subjects(SUBJECTS, (n) => `visitor-${n}`)) {
      const row = Math.floor(bucketOf(...one, subject) / 1_000)
      const column = Math.floor(bucketOf(...other, subject) / 1_000)
      cells[row * 10 + column] = (cells[row * 10 + column] ?? 0) + 1
    }
    expect(uniformity(cells)).toBeGreaterThan(0.001)
  })
})

describe('a percentage', () => {
  it('is an integer number of buckets for every hundredth', () => {
    for (let hundredths = 0; hundredths <= BUCKETS; hundredths++)
      expect(bucketsIn(hundredths / 100)).toBe(hundredths)
  })

  it('includes everybody of a lower one', () => {
    const percent = fc.integer({ min: 0, max: BUCKETS }).map((hundredths) => hundredths / 100)
    fc.assert(
      fc.property(percent, percent, fc.string(), (one, other, subject) => {
        const [low, high] = one < other ? [one, other] : [other, one]
        const bucket = bucketOf('s', 'k', 'rollout:r', subject)
        if (bucket < bucketsIn(low)) expect(bucket).toBeLessThan(bucketsIn(high))
      }),
    )
  })
})

describe('a weighted split', () => {
  const shares = fc
    .array(fc.integer({ min: 0, max: 1_000 }), { minLength: 1, maxLength: 10 })
    .filter((weights) => weights.some((weight) => weight > 0))
    .map((weights) => weights.map((weight, index) => ({ variant: `v${index}`, weight })))

  it('assigns every bucket to exactly one share, by weight to within one bucket', () => {
    fc.assert(
      fc.property(shares, (list) => {
        const total = list.reduce((sum, { weight }) => sum + weight, 0)
        const taken = new Map<string, number>()
        for (let bucket = 0; bucket < BUCKETS; bucket++) {
          const variant = shareOf(list, bucket)?.variant ?? 'none'
          taken.set(variant, (taken.get(variant) ?? 0) + 1)
        }
        expect(taken.has('none')).toBe(false)
        for (const { variant, weight } of list)
          expect(Math.abs((taken.get(variant) ?? 0) - (weight * BUCKETS) / total)).toBeLessThan(1)
      }),
      { numRuns: 50 },
    )
  })
})
