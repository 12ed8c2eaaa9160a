import fc from 'fast-check'
import { expect, it } from 'vitest'
import { isDeeperThan } from './json-extent.ts'

it.each([
  ['text', 0],
  [null, 0],
  [{}, 1],
  [[], 1],
  [{ a: 1, b: 'x' }, 1],
  [{ a: {} }, 2],
  [[[], [[]]], 3],
  [{ a: [{ b: 1 }] }, 3],
  [JSON.parse('{"__proto__":{"a":{}}}'), 3],
])('%j has %i levels', (value, levels) => {
  expect(isDeeperThan(value, levels)).toBe(false)
  if (levels > 0) expect(isDeeperThan(value, levels - 1)).toBe(true)
})

it('agrees with the number of levels that a value was built with', () => {
  fc.assert(
    fc.property(fc.array(fc.boolean(), { minLength: 1, maxLength: 30 }), (kinds) => {
      const value = kinds.reduce<unknown>((inner, array) => (array ? [0, inner] : { a: 0, b: inner }), 'core')
      expect(isDeeperThan(value, kinds.length)).toBe(false)
      expect(isDeeperThan(value, kinds.length - 1)).toBe(true)
    }),
  )
})

it('does not descend beyond the limit', () => {
  expect(isDeeperThan(JSON.parse('['.repeat(100_000) + ']'.repeat(100_000)), 20)).toBe(true)
})
