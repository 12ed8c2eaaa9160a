import { describe, expect, it } from 'vitest'
import { uniformWidth } from './uniform-width.ts'

describe('the width of buckets', () => {
  it.each([
    [[0, 10, 20], 30, 10],
    [[0, 10, 20], 25, 10],
    [[5], 12, 7],
    [[0, 10, 20], 31, undefined],
    [[0, 10, 21], 30, undefined],
    [[5], 5, undefined],
    [[], 10, undefined],
  ])('of %j until %i is %s', (buckets, to, width) => {
    expect(uniformWidth(buckets, to)).toBe(width)
  })
})
