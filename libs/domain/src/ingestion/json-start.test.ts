import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { jsonStart } from './json-start.ts'

describe('the start of a value as JSON', () => {
  it('is that of the whole text', () => {
    fc.assert(
      fc.property(fc.json({ maxDepth: 5 }), fc.integer({ min: 1, max: 100 }), (json, length) => {
        const value: unknown = JSON.parse(json)
        const whole = JSON.stringify(value)
        expect(jsonStart(value, length)).toBe(whole.slice(0, length).toWellFormed())
      }),
      { numRuns: 500 },
    )
  })

  it('does not depend on how much follows', () => {
    let deep: unknown = 1
    for (let level = 0; level < 100_000; level++) deep = [deep]
    expect(jsonStart(deep, 10)).toBe('['.repeat(10))
    expect(jsonStart({ a: 'x'.repeat(1_000_000) }, 10)).toBe('{"a":"xxxx')
  })
})
