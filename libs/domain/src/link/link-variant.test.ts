import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { variantFor } from './link-variant.ts'

const LINK = '01900000-0000-7000-8000-0123456789ab'
const weights = fc
  .array(fc.integer({ min: 0, max: 10_000 }), { minLength: 1, maxLength: 10 })
  .filter((all) => all.some((weight) => weight > 0))
const variantsOf = (all: readonly number[]) => all.map((weight, n) => ({ key: `v${n}`, weight }))
const VISITORS = Array.from({ length: 4_000 }, (_, n) => `198.51.100.${n % 256}\nBrowser/${n}`)
const keysOf = (all: readonly number[]) =>
  VISITORS.map((visitor) => variantFor(LINK, variantsOf(all), visitor)?.key)

describe('the variant of a visitor', () => {
  it('is always the same, and never one without weight', () => {
    fc.assert(
      fc.property(weights, fc.string(), (all, visitor) => {
        const chosen = variantFor(LINK, variantsOf(all), visitor)
        expect(chosen?.weight).toBeGreaterThan(0)
        expect(variantFor(LINK, variantsOf(all), visitor)).toEqual(chosen)
      }),
    )
    expect(variantFor(LINK, variantsOf([0, 0]), 'x')).toBeUndefined()
    expect(variantFor(LINK, [], 'x')).toBeUndefined()
  })

  it('follows the weights, whatever their sum', () => {
    fc.assert(
      fc.property(weights, (all) => {
        const keys = keysOf(all)
        const total = all.reduce((sum, weight) => sum + weight, 0)
        all.forEach((weight, n) => {
          const share = weight / total
          const expected = VISITORS.length * share
          const deviation = Math.sqrt(VISITORS.length * share * (1 - share))
          const found = keys.filter((key) => key === `v${n}`).length
          // Six standard deviations, and one of 10,000 buckets at each end of the share.
          expect(Math.abs(found - expected)).toBeLessThanOrEqual(6 * deviation + VISITORS.length / 5_000 + 1)
        })
      }),
      { numRuns: 50 },
    )
  })

  it('stays when the weight of this variant alone grows', () => {
    const grown = fc.tuple(weights, fc.nat(), fc.integer({ min: 1, max: 10_000 }))
    fc.assert(
      fc.property(grown, ([all, place, more]) => {
        const n = place % all.length
        const after = keysOf(all.map((weight, index) => (index === n ? weight + more : weight)))
        keysOf(all).forEach((key, visitor) => {
          if (key === `v${n}`) expect(after[visitor]).toBe(key)
        })
      }),
      { numRuns: 50 },
    )
  })

  it('does not depend on that of another link', () => {
    const both = VISITORS.filter((visitor) => variantFor(LINK, variantsOf([1, 1]), visitor)?.key === 'v0')
    const other = both.filter(
      (visitor) => variantFor('another link', variantsOf([1, 1]), visitor)?.key === 'v0',
    )
    expect(other.length / both.length).toBeGreaterThan(0.4)
    expect(other.length / both.length).toBeLessThan(0.6)
  })
})
