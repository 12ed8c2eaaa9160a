import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { memberSize } from './member-size.ts'

const sizeIn = (json: string, name = 'traits') => memberSize(Buffer.from(json), name)

describe('memberSize', () => {
  it('is the length of the compact JSON, independent of surrounding members', () => {
    const others = fc.dictionary(fc.string({ unit: 'binary' }), fc.jsonValue(), { maxKeys: 3 })
    fc.assert(
      fc.property(others, fc.jsonValue(), others, (before, traits, after) => {
        const { traits: _a, ...first } = before
        const { traits: _b, ...last } = after
        // Computed keys keep __proto__ a member like any other.
        const body = Object.fromEntries([
          ...Object.entries(first),
          ['traits', traits],
          ...Object.entries(last).filter(([name]) => !Object.hasOwn(first, name)),
        ])
        expect(sizeIn(JSON.stringify(body))).toBe(Buffer.byteLength(JSON.stringify(traits)))
      }),
    )
  })

  it('counts white space inside the value, and none around it', () => {
    const spaced = fc
      .array(fc.constantFrom(' ', '\t', '\n', '\r'), { maxLength: 4 })
      .map((all) => all.join(''))
    fc.assert(
      fc.property(fc.jsonValue(), spaced, spaced, fc.nat(4), (traits, before, after, indent) => {
        const text = JSON.stringify(traits, null, indent)
        const json = `${before}{${after}"a"${before}:[{"traits":1}]${after},${before}"traits"${after}:${before}${text}${after}}${before}`
        expect(sizeIn(json)).toBe(Buffer.byteLength(text))
      }),
    )
  })

  it.each([
    ['{}', undefined],
    [' { } ', undefined],
    ['{"a":1}', undefined],
    ['{"a":{"traits":{}}}', undefined],
    ['{"traits":{}}', 2],
    ['{"traits":null,"a":1}', 4],
    ['{"traits":-1.5e3 }', 6],
    ['{"traits":"é😀"}', 8],
    ['{"traits":"\\u00e9"}', 8],
    ['{"traits":"}\\"],{"}', 8],
    ['{"a":"\\\\","traits":[]}', 2],
    ['{"tr\\u0061its":[ ]}', 3],
    ['{"traits":[1,2,3],"traits":{}}', 2],
    ['\uFEFF{"traits":{}}', 2],
  ])('of %j is %s', (json, size) => {
    expect(sizeIn(json)).toBe(size)
  })

  it('works at any depth', () => {
    const depth = 500_000
    expect(sizeIn(`{"traits":${'['.repeat(depth)}${']'.repeat(depth)}}`)).toBe(2 * depth)
  })
})
