import { describe, expect, it } from 'vitest'
import { seededRandom } from './seeded-random.ts'

describe('seeded random input', () => {
  it('repeats with its seed, and differs with another one', () => {
    const numbers = (seed: number) => {
      const { below } = seededRandom(seed)
      return Array.from({ length: 20 }, () => below(1_000))
    }
    expect(numbers(7)).toEqual(numbers(7))
    expect(numbers(7)).not.toEqual(numbers(8))
    expect(numbers(7).every((number) => number >= 0 && number < 1_000)).toBe(true)
  })

  it('keeps every item when it shuffles', () => {
    const items = Array.from({ length: 50 }, (_, n) => n)
    const shuffled = seededRandom(7).shuffled(items)
    expect(shuffled).not.toEqual(items)
    expect(shuffled.toSorted((a, b) => a - b)).toEqual(items)
  })
})
