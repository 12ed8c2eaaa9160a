import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { canonicalJson } from './canonical-json.ts'

describe('canonicalJson', () => {
  it('does not depend on the order of members, at any level', () => {
    const one = { b: 1, a: { d: [{ y: 1, x: 2 }], c: null } }
    const other = { a: { c: null, d: [{ x: 2, y: 1 }] }, b: 1 }
    expect(canonicalJson(one)).toBe('{"a":{"c":null,"d":[{"x":2,"y":1}]},"b":1}')
    expect(canonicalJson(other)).toBe(canonicalJson(one))
  })

  it.each([
    [{ a: 1 }, { a: '1' }],
    [{ a: null }, {}],
    [
      [1, 2],
      [2, 1],
    ],
    [JSON.parse('{"__proto__":1}'), {}],
  ])('differs for %j and %j', (one, other) => {
    expect(canonicalJson(one)).not.toBe(canonicalJson(other))
  })

  it('parses to the same value', () => {
    fc.assert(
      fc.property(fc.json(), (json) => {
        const value: unknown = JSON.parse(json)
        expect(JSON.parse(canonicalJson(value))).toEqual(value)
      }),
    )
  })
})
