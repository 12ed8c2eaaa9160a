import fc from 'fast-check'
import { expect, it } from 'vitest'

it.skipIf(process.env.PROPERTY_SEED === 'random')('gives properties the same input in each run', () => {
  const inputs = (): number[] => {
    const seen: number[] = []
    fc.assert(
      fc.property(fc.integer(), (n) => void seen.push(n)),
      { numRuns: 5 },
    )
    return seen
  }
  expect(inputs()).toEqual(inputs())
})
