import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  extentOf,
  holdsInfinity,
  holdsNumberOutOfRange,
  isDeeperThan,
  isHeavierThan,
  jsonStart,
  memberStart,
  parseClientJson,
  weightOf,
} from './client-json.ts'

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

describe('parseClientJson', () => {
  it('parses storable JSON like JSON.parse', () => {
    fc.assert(
      fc.property(fc.json(), (text) => {
        expect(parseClientJson(text)).toEqual(JSON.parse(text))
      }),
    )
  })

  it('replaces what PostgreSQL or UTF-8 cannot store, in keys and values', () => {
    fc.assert(
      fc.property(dirtyJson, (value) => {
        for (const text of stringsIn(parseClientJson(JSON.stringify(value)))) {
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
    expect(parseClientJson(text)).toEqual(value)
  })

  it.each(['{"__proto__":{"admin":true}}', '{"__proto__":{"admin":"\\u0000"},"\\u0000":1}'])(
    'keeps `__proto__` in %s as a key like any other',
    (text) => {
      const value = parseClientJson(text) as object
      expect(Object.keys(value)).toContain('__proto__')
      expect(Object.getPrototypeOf(value)).toBe(Object.prototype)
      expect(value).not.toHaveProperty('admin')
      expect({}).not.toHaveProperty('admin')
    },
  )

  it('parses 100,000 levels, storable or not', () => {
    for (const core of ['1', '"\\u0000"']) {
      const arrays = '['.repeat(100_000) + core + ']'.repeat(100_000)
      const objects = '{"a":'.repeat(100_000) + core + '}'.repeat(100_000)
      expect(parseClientJson(arrays)).toBeInstanceOf(Array)
      expect(parseClientJson(objects)).toHaveProperty('a')
    }
  })

  it('throws only SyntaxErrors', () => {
    const almostJson = fc.array(fc.constantFrom(...'{}[]":,\\u0d8-eE19tn \0\n'), { maxLength: 12 })
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          almostJson.map((parts) => parts.join('')),
        ),
        (text) => {
          try {
            parseClientJson(text)
          } catch (error) {
            expect(error).toBeInstanceOf(SyntaxError)
          }
        },
      ),
    )
    expect(() => parseClientJson('{"a":')).toThrow(SyntaxError)
  })
})

const parsed = fc.json({ maxDepth: 6 }).map((text): unknown => JSON.parse(text))

describe('the extent of a JSON value', () => {
  it('is never smaller than the compact JSON', () => {
    fc.assert(
      fc.property(parsed, (value) => {
        expect(extentOf(value, 20).bytesAtMost).toBeGreaterThanOrEqual(
          Buffer.byteLength(JSON.stringify(value)),
        )
      }),
    )
  })

  it.each([
    '\u0001'.repeat(100),
    '\ud800'.repeat(100),
    '"\\'.repeat(100),
    '€😀'.repeat(100),
    -1.7976931348623157e308,
    -2.2250738585072014e-308,
    123456789012345680000,
    -0.0000012345678901234567,
    [],
    {},
    [[], [[]], {}],
    { a: {}, b: [{}] },
    [false, null, true],
    JSON.parse('{"__proto__":{"\\u0002":[0.000001]}}'),
  ])('holds for %j', (value) => {
    expect(extentOf(value, 20).bytesAtMost).toBeGreaterThanOrEqual(Buffer.byteLength(JSON.stringify(value)))
  })

  it('does not exceed the limit for an ordinary event', () => {
    const event = { eventName: 'page_view', properties: { url: 'https://shop.example/shoes', price: 4990 } }
    expect(extentOf(event, 20).bytesAtMost).toBeLessThan(1_000)
  })

  it('reports excess depth and numbers out of range', () => {
    fc.assert(
      fc.property(parsed, fc.nat(6), (value, maxDepth) => {
        expect(extentOf(value, maxDepth).tooDeep).toBe(isDeeperThan(value, maxDepth))
      }),
    )
    for (const text of ['1e999', '[{"a":-1e400}]', '{"a":[1,{"b":1e309}]}', '1e308', '{}']) {
      const value: unknown = JSON.parse(text)
      expect(extentOf(value, 20).outOfRange).toBe(holdsInfinity(value))
    }
  })

  it('stops at the maximum depth', () => {
    expect(extentOf(JSON.parse('['.repeat(100_000) + ']'.repeat(100_000)), 20).tooDeep).toBe(true)
  })
})

describe('isDeeperThan', () => {
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
        const value = kinds.reduce<unknown>(
          (inner, array) => (array ? [0, inner] : { a: 0, b: inner }),
          'core',
        )
        expect(isDeeperThan(value, kinds.length)).toBe(false)
        expect(isDeeperThan(value, kinds.length - 1)).toBe(true)
      }),
    )
  })

  it('does not descend beyond the limit', () => {
    expect(isDeeperThan(JSON.parse('['.repeat(100_000) + ']'.repeat(100_000)), 20)).toBe(true)
  })
})

const holds = (text: string): boolean => holdsNumberOutOfRange(text, JSON.parse(text))

describe('a number out of the range of a double', () => {
  it.each([
    '1e999',
    '-1e999',
    '[1E+309]',
    '{"a":{"b":[0,1.5e0400]}}',
    `1${'0'.repeat(309)}`,
    `1${'0'.repeat(250)}e99`,
    `0.${'0'.repeat(10)}1e400`,
  ])('is found in %s', (text) => expect(holds(text)).toBe(true))

  it.each([
    '1e308',
    '-1.7976931348623157e308',
    '1e-999',
    '"1e999"',
    `1${'0'.repeat(308)}`,
    '"5e123"',
    '{"1e999":1}',
  ])('is not in %s', (text) => expect(holds(text)).toBe(false))

  it('is found wherever parsing makes it infinite', () => {
    const number = fc
      .tuple(fc.bigInt({ min: 0n, max: 10n ** 320n }), fc.integer({ min: 0, max: 320 }))
      .map(([digits, exponent]) => `${digits}e${exponent}`)
    fc.assert(
      fc.property(number, (text) => {
        expect(holds(`{"a":[${text}]}`)).toBe(!Number.isFinite(Number(text)))
      }),
    )
  })
})

describe('weightOf', () => {
  it('counts each value, and long texts as several', () => {
    expect(weightOf({ a: [1, null, true], b: {}, c: 'x'.repeat(64) })).toBe(1 + 1 + 3 + 1 + 3)
  })

  it('is at most half of the size as JSON', () => {
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

it('shows numbers in the start of a value as they were sent', () => {
  const text = '{"userId":7211045500123456789,"list":[1,9007199254740993]}'
  expect(jsonStart(parseClientJson(text), 100)).toBe(text)
})

describe('the start of a member as JSON', () => {
  it.each([
    ['{"at":1767225600123456789}', '1767225600123456789'],
    ['{"at":1767225600}', '1767225600'],
    ['{"at":"yesterday"}', '"yesterday"'],
    [`{"at":${'1'.repeat(100)}}`, '1'.repeat(64)],
  ])('shows a number as it was sent: %s', (text, shown) => {
    expect(memberStart(parseClientJson(text) as object, 'at', 64)).toBe(shown)
  })
})
