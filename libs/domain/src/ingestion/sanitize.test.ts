import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parseJson } from './sanitize.ts'

/** Any UTF-16 code units: lone surrogates, U+0000 and ordinary ones. */
const dirtyString = fc
  .array(fc.oneof(fc.constantFrom(0, 0xd800, 0xdc00, 0xfffd), fc.nat(0xffff)), { maxLength: 6 })
  .map((units) => String.fromCharCode(...units))

const { dirtyJson } = fc.letrec((tie) => ({
  dirtyJson: fc.oneof(
    { maxDepth: 4 },
    dirtyString,
    fc.constantFrom(null, true, 0, 1e308),
    fc.array(tie('dirtyJson'), { maxLength: 4 }),
    fc.dictionary(dirtyString, tie('dirtyJson'), { maxKeys: 4 }),
  ),
}))

const stringsIn = (value: unknown): string[] => {
  if (typeof value === 'string') return [value]
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, child]) => [key, ...stringsIn(child)])
}

describe('parseJson', () => {
  it('reads clean JSON as JSON.parse does', () => {
    fc.assert(
      fc.property(fc.json(), (text) => {
        expect(parseJson(text)).toEqual(JSON.parse(text))
      }),
    )
  })

  it('leaves nothing in keys and values that PostgreSQL or UTF-8 cannot hold', () => {
    fc.assert(
      fc.property(dirtyJson, (value) => {
        for (const text of stringsIn(parseJson(JSON.stringify(value)))) {
          expect(text.isWellFormed()).toBe(true)
          expect(text).not.toContain('\0')
        }
      }),
    )
  })

  it.each([
    ['"a\\u0000b"', 'a\uFFFDb'],
    ['"\\u0000\\u0000"', '\uFFFD\uFFFD'],
    ['"\\ud83e"', '\uFFFD'],
    ['"\\uDDA9x"', '\uFFFDx'],
    ['"\\ud83e\\udda9"', '🦩'],
    ['"\\\\u0000"', '\\u0000'],
    ['{"a\\u0000":{"\\ud800":"\\udfff"}}', { 'a\uFFFD': { '\uFFFD': '\uFFFD' } }],
    ['[1e308, "\\u0000", null]', [1e308, '\uFFFD', null]],
  ])('reads %s', (text, value) => {
    expect(parseJson(text)).toEqual(value)
  })

  it.each(['{"__proto__":{"admin":true}}', '{"__proto__":{"admin":"\\u0000"},"\\u0000":1}'])(
    'keeps `__proto__` in %s as a key like any other',
    (text) => {
      const value = parseJson(text) as object
      expect(Object.keys(value)).toContain('__proto__')
      expect(Object.getPrototypeOf(value)).toBe(Object.prototype)
      expect(value).not.toHaveProperty('admin')
      expect({}).not.toHaveProperty('admin')
    },
  )

  it('survives 100,000 levels, clean or not', () => {
    for (const core of ['1', '"\\u0000"']) {
      const arrays = '['.repeat(100_000) + core + ']'.repeat(100_000)
      const objects = '{"a":'.repeat(100_000) + core + '}'.repeat(100_000)
      expect(parseJson(arrays)).toBeInstanceOf(Array)
      expect(parseJson(objects)).toHaveProperty('a')
    }
  })

  it('throws nothing but a SyntaxError', () => {
    const almostJson = fc.array(fc.constantFrom(...'{}[]":,\\u0d8-eE19tn \0\n'), { maxLength: 12 })
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          almostJson.map((parts) => parts.join('')),
        ),
        (text) => {
          try {
            parseJson(text)
          } catch (error) {
            expect(error).toBeInstanceOf(SyntaxError)
          }
        },
      ),
    )
    expect(() => parseJson('{"a":')).toThrow(SyntaxError)
  })
})
