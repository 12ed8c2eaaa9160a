import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isHeavierThan, weightOf } from './json-extent.ts'

describe('weightOf', () => {
  it('counts each value, and long texts as several', () => {
    expect(weightOf({ a: [1, null, true], b: {}, c: 'x'.repeat(64) })).toBe(1 + 1 + 3 + 1 + 3)
  })

  it('is at most half of what the value takes as JSON', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(weightOf(value)).toBeLessThanOrEqual((Buffer.byteLength(JSON.stringify(value)) + 1) / 2)
      }),
    )
  })
})

describe('isHeavierThan', () => {
  it('is true above the limit, not at it', () => {
    expect(isHeavierThan([1, 2], 3)).toBe(false)
    expect(isHeavierThan([1, 2, 3], 3)).toBe(true)
  })
})
